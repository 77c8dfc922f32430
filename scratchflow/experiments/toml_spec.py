"""A spec in TOML: the same as the flags say, in a file that can be kept.

    command = "python train.py --out runs/{lr}"
    name = "learning rates"
    tags = ["sweep"]
    max_parallel = 4

    [params]
    epochs = 10
    [grid]
    lr = [0.1, 0.01]
    [zip]
    seed = [1, 2]
    fold = ["a", "b"]

Instead of `[grid]` and `[zip]` there may be several `[[part]]`, each with a `params`, `grid` and `zip` of its own.
"""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scratchflow.experiments.sets import (
    Parameters,
    combinations,
    combined,
    refuse_repeats,
    require_equal_lengths,
    require_few_enough,
    require_name,
    require_passable,
)
from scratchflow.experiments.spec import Remark, Spec, without_secrets
from scratchflow.model.errors.base import SpecInvalid
from scratchflow.model.text import closest, counted

MAX_BYTES = 1 << 20
_OF_PART = ("params", "grid", "zip")
_KEYS = ("name", "command", "tags", "max_parallel", "append", "variables", "part", *_OF_PART)
_KINDS = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    list: "a list",
    dict: "a table",
}


def read_toml_spec(path: Path) -> Spec:
    """The spec in the file; every complaint names its key."""
    return _Reader(str(path)).spec(_document(path))


def _document(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        raw = path.read_bytes()
        if len(raw) > MAX_BYTES:
            raise SpecInvalid(path=path, problem="it is larger than 1 MiB")
        return tomllib.loads(raw.decode("utf-8"))
    except OSError as error:
        raise SpecInvalid(path=path, problem=error.strerror or str(error)) from None
    except RecursionError:
        raise SpecInvalid(path=path, problem="it is nested too deeply") from None
    except ValueError as error:  # not UTF-8, not TOML, or a number that is too long
        kind = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise SpecInvalid(path=path, problem=kind) from None


class _Reader:
    """One file: what it says, checked."""

    def __init__(self, path: str) -> None:
        self._path = path

    def spec(self, document: Mapping[str, Any]) -> Spec:
        self._refuse_unknown(document, _KEYS, "")
        sets, remarks = self._sets(document)
        given = self._variables(self._typed(document, "variables", dict) or {})
        variables, withheld = without_secrets(given, "variables")
        return Spec(
            path=self._path,
            sets=sets,
            name=self._typed(document, "name", str) or "",
            command=self._command(document.get("command", [])),
            tags=self._texts("tags", document.get("tags", [])),
            variables=variables,
            max_parallel=self._max_parallel(document),
            append=self._typed(document, "append", bool) is not False,
            remarks=[*remarks, *withheld],
        )

    def _sets(self, document: Mapping[str, Any]) -> tuple[list[Parameters], list[Remark]]:
        """Those of all parts, one after the other; sets that are equal are one, and that is told."""
        base = self._values("params", self._typed(document, "params", dict) or {})
        parts = self._typed(document, "part", list)
        if parts is None:
            return self._part(document, base, ""), []
        for key in ("grid", "zip"):
            if key in document:
                raise self._refused(key, "beside `[[part]]` it belongs into a part")
        sets: list[Parameters] = []
        for number, part in enumerate(parts, start=1):
            if not isinstance(part, dict):
                raise self._refused("part", "expected `[[part]]`")
            sets += self._part(part, base, f"part {number}: ")
            require_few_enough(len(sets))
        different = combined(sets, [{}])
        extra = len(sets) - len(different)
        shown = f"{counted(extra, 'set')} of parameters came twice and {'runs' if extra == 1 else 'run'} once"
        return different, [Remark("part", shown)] if extra else []

    def _part(self, table: Mapping[str, Any], base: Parameters, where: str) -> list[Parameters]:
        if where:
            self._refuse_unknown(table, _OF_PART, where)
            own = self._values(f"{where}params", self._typed(table, "params", dict) or {})
            base = {**base, **own}
        else:
            own = base
        grid = dict(self._lists(table, "grid", where))
        zipped = dict(self._lists(table, "zip", where))
        for name in {**grid, **zipped}:
            if sum(name in one for one in (own, grid, zipped)) > 1:
                raise self._refused(f"{where}{name}", "it is given twice, in params, grid or zip")
        require_equal_lengths(zipped)
        for name, values in grid.items():
            refuse_repeats(f"{where}grid.{name}", values)
        refuse_repeats(f"{where}zip", list(zip(*zipped.values(), strict=True)))
        return combinations(base, grid, zipped)

    def _lists(
        self, table: Mapping[str, Any], key: str, where: str
    ) -> Iterator[tuple[str, list[Any]]]:
        for name, values in (self._typed(table, key, dict) or {}).items():
            if not isinstance(values, list):
                raise self._refused(f"{where}{key}.{name}", "expected a list of values")
            if not values:
                raise self._refused(f"{where}{key}.{name}", "the list has no values")
            yield name, list(self._values(f"{where}{key}", {name: values})[name])

    def _values(self, where: str, table: Mapping[str, Any]) -> Parameters:
        for name, value in table.items():
            require_name(name)
            self._require_json(f"{where}.{name}", value)
        return dict(table)

    def _require_json(self, key: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, one in value.items():
                self._require_json(f"{key}.{name}", one)
        elif isinstance(value, list):
            for one in value:
                self._require_json(key, one)
        elif isinstance(value, str):
            require_passable(key, value)
        elif isinstance(value, float) and not math.isfinite(value):
            raise self._refused(key, f"{value} is no number that JSON knows; write it in quotes")
        elif not isinstance(value, (bool, int, float)):
            raise self._refused(key, "write a date or a time in quotes, so that it is text")

    def _command(self, command: Any) -> list[str]:
        """Words; text is split into words as a shell does, and no shell runs it."""
        if not isinstance(command, str):
            return self._texts("command", command)
        try:
            return shlex.split(command)
        except ValueError as error:
            raise self._refused("command", str(error).lower()) from None

    def _texts(self, key: str, values: Any) -> list[str]:
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise self._refused(key, "expected a list of texts")
        for one in values:
            require_passable(key, one)
        return values

    def _variables(self, table: Mapping[str, Any]) -> dict[str, str]:
        for name, value in table.items():
            if not name.isidentifier() or not name.isascii():
                raise self._refused(f"variables.{name}", "this is not a variable name")
            if not isinstance(value, str):
                raise self._refused(f"variables.{name}", f"expected text: {json.dumps(str(value))}")
            require_passable(f"variables.{name}", value)
        return dict(table)

    def _max_parallel(self, document: Mapping[str, Any]) -> int | None:
        found: int | None = self._typed(document, "max_parallel", int)
        if found is not None and found < 1:
            raise self._refused("max_parallel", "expected 1 or more")
        return found

    def _typed(self, table: Mapping[str, Any], key: str, kind: type) -> Any:
        value = table.get(key)
        if value is not None and type(value) is not kind:
            raise self._refused(key, f"expected {_KINDS[kind]}")
        return value

    def _refuse_unknown(self, table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
        for key in table:
            if key not in known:
                guess = closest(key, known)
                meant = f"did you mean `{guess}`?" if guess else f"known: {', '.join(known)}"
                raise self._refused(f"{where}{key}", f"there is no such key; {meant}")

    def _refused(self, key: str, problem: str) -> SpecInvalid:
        return SpecInvalid(path=self._path, problem=f"`{key}`: {problem}")
