"""Text in lines of a given width, broken at spaces only: what stands in backticks stays in one piece, and so does a number with its unit."""

from __future__ import annotations

import re

from scratchflow.model.text import cells

# A word with the backticks in it: `(run `scratchflow up`),` has two. A space that a unit follows is part of it: `(9 B)`.
_UNIT = r"(?:[KMGTP]i)?B|s|min|h"
_WORD = re.compile(rf"(?:`[^`]*`|[^ ]|(?<=[0-9]) (?=(?:{_UNIT})\b))+")


class Whole(str):
    """A line that is never broken: a command or a path to copy, a line of a file."""

    __slots__ = ()


class Labelled(str):
    """A line that begins with a label: where it is broken, it goes on beneath the text behind that."""

    __slots__ = ("column",)
    column: int

    def __new__(cls, label: str, text: str) -> Labelled:
        """The label with the spaces that follow it, and the text."""
        line = super().__new__(cls, f"{label}{text}")
        line.column = cells(label)
        return line


def broken(text: str, width: int | None, indent: str = "") -> list[str]:
    """The lines of a text; those after the first begin with the indent. Without a width it is one line.

    A word that is longer than a line is left to the terminal, whose breaks are not copied; it gets a line of
    its own, or follows its label. Spaces within a line stay as they are, because they may align something.
    """
    if width is None or cells(text) <= width:
        return [text]
    lines: list[str] = []
    line, end = "", 0
    for word in _WORD.finditer(text):
        longer = f"{line}{text[end : word.start()]}{word[0]}"
        too_long = cells(f"{indent}{word[0]}") > width
        is_label = not lines and " " not in line.strip()
        if cells(longer) <= width or not line.strip() or (too_long and is_label):
            line = longer
        else:
            lines.append(line)
            line = f"{indent}{word[0]}"
        end = word.end()
    return [*lines, line]
