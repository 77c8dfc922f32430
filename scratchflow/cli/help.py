"""How `--help` looks: few lines, because what scrolls off a small terminal is not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scratchflow.model.text import cells
from scratchflow.model.wrap import broken

Row = tuple[str, str]

_INDENT = "  "
_GAP = "  "
# A longer name has its text beneath it.
_WIDEST_NAME = 30


def text_lines(text: str, width: int) -> Iterator[str]:
    """A docstring: its paragraphs, filled, with an empty line between."""
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            yield ""
        filled = " ".join(paragraph.split())
        yield from broken(f"{_INDENT}{filled}", width, _INDENT)


def rows_under(heading: str, rows: Sequence[Row], width: int) -> Iterator[str]:
    """A heading, and beneath it names with their texts side by side; nothing without rows."""
    if not rows:
        return
    yield f"{heading}:"
    first = min(max(cells(name) for name, _ in rows), _WIDEST_NAME)
    indent = _INDENT + " " * first + _GAP
    for name, text in rows:
        lines = broken(text, width - len(indent))
        if cells(name) > first:
            yield f"{_INDENT}{name}"
        else:
            start = f"{_INDENT}{name}{' ' * (first - cells(name))}{_GAP}"
            yield f"{start}{lines.pop(0)}".rstrip()
        yield from (f"{indent}{line}" for line in lines)


def records(parameters: Sequence[Any], context: Any, kind: str) -> list[Row]:
    """The names and texts of the arguments or the options; `--help` is known to whoever reads this."""
    shown = [one for one in parameters if one.param_type_name == kind and one.name != "help"]
    return [row for one in shown if (row := one.get_help_record(context)) is not None]


def in_one(rows: Sequence[Row]) -> Row:
    """Several short options on one line: `--gpus, --cpus N   How many GPUs; how many CPU cores.`"""
    names, texts = zip(*rows, strict=True)
    first, *more = (text.rstrip(".") for text in texts)
    return _listed(names), "; ".join([first, *(_small(text) for text in more)]) + "."


def _listed(names: Sequence[str]) -> str:
    """What kind of value they take is said once, if it is the same: `--gpus, --cpus N`."""
    values = {name.partition(" ")[2] for name in names}
    if len(values) > 1:
        return ", ".join(names)
    return f"{', '.join(name.partition(' ')[0] for name in names)} {values.pop()}".rstrip()


def _small(text: str) -> str:
    """Not for a name, like Slurm's."""
    return text if text.startswith("Slurm") else f"{text[:1].lower()}{text[1:]}"
