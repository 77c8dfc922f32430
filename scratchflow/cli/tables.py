"""Rows that stay within the terminal: columns are aligned, names give way first, no word is broken."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from scratchflow.model.text import cells, shortened
from scratchflow.model.wrap import broken

GAP = "  "
_SHORTEST_NAME = 6
# As much of a name as its giver knows it by.
_KNOWN_BY = 24


def aligned(
    rows: Sequence[Sequence[str]],
    right: Collection[int] = (),
    width: int | None = None,
    gives_way: Sequence[int] = (0,),
) -> Iterator[str]:
    """Each row as one line, its cells beneath those of the others; `right` are columns of numbers.

    With a `width`, the columns of `gives_way` are shortened so far as that is needed, one after the other.
    """
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - width if width is not None else 0
    for column in gives_way if excess > 0 else ():
        least = min(_SHORTEST_NAME, widths[column])
        given = min(max(excess, 0), widths[column] - least)
        widths[column] -= given
        excess -= given
    rows = [
        [
            shortened(cell, widths[number]) if number in gives_way else cell
            for number, cell in enumerate(row)
        ]
        for row in rows
    ]
    for row in rows:
        padded = [
            f"{' ' * (width - cells(cell))}{cell}"
            if number in right
            else f"{cell}{' ' * (width - cells(cell))}"
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield GAP.join(padded).rstrip()


def fitted(fixed: str, name: str, notes: str, width: int | None, *, is_named: bool = False) -> str:
    """One line: what must be seen, a name that is shortened, or left out, to fit, and remarks.

    A name that a person gave is seen before the remarks.
    """
    if width is not None and name:
        room = width - cells(GAP.join(filter(None, [fixed, notes]))) - len(GAP)
        if is_named:
            most = width - cells(fixed) - len(GAP)
            room = min(max(room, _KNOWN_BY), most)
        name = shortened(name, room) if room >= _SHORTEST_NAME else ""
    line = GAP.join(filter(None, [fixed, name, notes]))
    return line if width is None else shortened(line, width)


def wrapped(label: str, text: str, width: int | None) -> Iterator[str]:
    """The text behind its label, on as many lines as it needs, broken between words only."""
    room = None if width is None else max(width, cells(label) + 20)
    yield from broken(f"{label}{text}", room, " " * cells(label))
