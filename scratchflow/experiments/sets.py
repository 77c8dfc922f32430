"""Parameter sets: every combination that `--param`, `--grid` and `--zip` ask for, one set for each task."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from scratchflow.experiments.values import Value, as_json, read_value, split_values, write_value
from scratchflow.model.errors.base import ParameterInvalid
from scratchflow.model.text import counted

Parameters = dict[str, Value]
"""What one task is given, in the order in which it was asked for."""

MOST_SETS = 100_000
"""More tasks than this are a mistake in a grid; they would not fit into memory before anybody noticed."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*", re.ASCII)
_RULE = "letters, digits, `_`, `.`, `/` and `-`, with a letter or `_` first"


def parameter_sets(
    params: Sequence[str] = (), grids: Sequence[str] = (), zips: Sequence[str] = ()
) -> list[Parameters]:
    """The sets that these flags ask for, each written `k=v` or `k=a,b,c`; one empty set without any.

    The values of `--zip` go side by side and change slowest, then the first `--grid`; the last one changes fastest.
    """
    _refuse_names_given_twice({"--param": params, "--grid": grids, "--zip": zips})
    base = dict(_one(flag) for flag in params)
    grid = dict(_several("--grid", flag) for flag in grids)
    zipped = dict(_several("--zip", flag) for flag in zips)
    require_equal_lengths(zipped)
    for name, values in grid.items():
        refuse_repeats(f"--grid {name}", values)
    refuse_repeats(" ".join(f"--zip {name}" for name in zipped), _rows(zipped))
    return combinations(base, grid, zipped)


def combinations(
    base: Mapping[str, Value],
    grid: Mapping[str, Sequence[Value]],
    zipped: Mapping[str, Sequence[Value]],
) -> list[Parameters]:
    """The base with each row of the zipped values and each combination of the grid, in this order of change."""
    count = len(_rows(zipped)) if zipped else 1
    count *= math.prod(len(values) for values in grid.values())
    require_few_enough(count)
    names = [*zipped, *grid]
    rows = _rows(zipped) if zipped else [()]
    chosen = (one + other for one in rows for other in itertools.product(*grid.values()))
    return [{**base, **dict(zip(names, values, strict=True))} for values in chosen]


def combined(outer: Iterable[Parameters], inner: Sequence[Parameters]) -> list[Parameters]:
    """Each of a spec's sets with each of the flags' sets, which win; sets that become equal are one."""
    found: dict[str, Parameters] = {}
    for one in outer:
        for other in inner:
            both = {**one, **other}
            found.setdefault(as_json(dict(sorted(both.items()))), both)
        require_few_enough(len(found))
    return list(found.values())


def require_name(name: str) -> None:
    """Refuses a name that could not stand as `--name=…` or `{name}` in a command."""
    if not _NAME.fullmatch(name):
        raise ParameterInvalid(given=name, problem=f"a parameter's name has {_RULE}")


def require_equal_lengths(zipped: Mapping[str, Sequence[Value]]) -> None:
    """Refuses values that cannot go side by side."""
    lengths = {name: len(values) for name, values in zipped.items()}
    if len(set(lengths.values())) > 1:
        lengths_shown = ", ".join(f"`{name}` has {length}" for name, length in lengths.items())
        problem = f"values that go side by side must be equally many, but {lengths_shown}"
        raise ParameterInvalid(given="--zip", problem=problem)


def require_few_enough(count: int) -> None:
    """Refuses more sets than anybody means."""
    if count > MOST_SETS:
        problem = f"that would be {count} tasks; more than {MOST_SETS} are not possible"
        raise ParameterInvalid(given="the parameters", problem=problem)


def _refuse_names_given_twice(flags: Mapping[str, Sequence[str]]) -> None:
    """Refuses a name that two flags give a value, and what is no name with a value."""
    seen: dict[str, str] = {}
    for flag, text in ((flag, text) for flag, texts in flags.items() for text in texts):
        given = f"{flag} {text}"
        name, equals, _ = text.partition("=")
        if not equals:
            raise ParameterInvalid(given=given, problem="expected NAME=VALUE")
        require_name(name)
        if name in seen:
            problem = f"`{name}` is given twice, before as `{seen[name]}`; one flag says all there is about a parameter"
            raise ParameterInvalid(given=given, problem=problem)
        seen[name] = given


def _one(text: str) -> tuple[str, Value]:
    name, _, value = text.partition("=")
    return name, _read(f"--param {name}", value)


def _several(flag: str, text: str) -> tuple[str, list[Value]]:
    name, _, values = text.partition("=")
    return name, [_read(f"{flag} {name}", value) for value in split_values(values)]


def _read(given: str, text: str) -> Value:
    try:
        value = read_value(text)
    except ValueError as error:
        raise ParameterInvalid(given=given, problem=str(error)) from None
    require_passable(given, text)
    require_passable(given, write_value(value))
    return value


def require_passable(given: str, text: str) -> None:
    """Refuses text that no command line or no JSON file can hold."""
    if "\0" in text or any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        problem = "a value must be UTF-8 text without the character NUL"
        raise ParameterInvalid(given=given, problem=problem)


def _rows(zipped: Mapping[str, Sequence[Value]]) -> list[tuple[Value, ...]]:
    return list(zip(*zipped.values(), strict=True))


def refuse_repeats(given: str, values: Sequence[Value]) -> None:
    """Two equal tasks would differ in nothing but their results: a typing error, most of the time."""
    seen = set()
    for value in values:
        text = as_json(value)
        if text in seen:
            shown = ", ".join(map(as_json, value)) if isinstance(value, tuple) else text
            problem = f"{shown} is there twice; {counted(len(values), 'value')} must be different"
            raise ParameterInvalid(given=given, problem=problem)
        seen.add(text)
