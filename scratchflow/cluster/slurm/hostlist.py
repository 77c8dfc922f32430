"""Slurm's node lists, `cn-c[007,035],gpu[1-2]-ib`, as single names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

MOST_NODES = 65536
"""A list that claims more is not a node list; `a[1-999999999]` must not eat the memory."""

_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")


def expand(nodelist: str) -> tuple[str, ...]:
    """Every name, in the list's order; a ValueError says what is wrong with the list.

    Numbers keep their leading zeros. Several brackets in one name multiply: `r[1-2]n[1-2]`.
    """
    if nodelist.strip() in {"", "(null)", "None", "n/a", "N/A"}:
        return ()
    names: list[str] = []
    for part in _split_outside_brackets(nodelist.strip()):
        names.extend(itertools.islice(_expand_one(part), MOST_NODES + 1))
        if len(names) > MOST_NODES:
            raise ValueError(f"a node list of more than {MOST_NODES} names")
    return tuple(names)


def _split_outside_brackets(nodelist: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, character in enumerate(nodelist):
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth not in {0, 1}:
            break
        if character == "," and depth == 0:
            yield nodelist[start:position]
            start = position + 1
    if depth != 0:
        raise ValueError(f"unbalanced brackets in the node list `{nodelist}`")
    yield nodelist[start:]


def _expand_one(part: str) -> Iterator[str]:
    if not part:
        raise ValueError("an empty name in a node list")
    pieces = [
        [plain] if plain else list(_numbers(ranges)) for ranges, plain in _PIECE.findall(part)
    ]
    return ("".join(chosen) for chosen in itertools.product(*pieces))


def _numbers(ranges: str) -> Iterator[str]:
    for text in ranges.split(","):
        match = _RANGE.fullmatch(text)
        if not match:
            raise ValueError(f"`{text}` is not a range of node numbers")
        first, last = match[1], match[2] or match[1]
        if not int(first) <= int(last) <= int(first) + MOST_NODES:
            raise ValueError(f"`{text}` is not a range of node numbers")
        yield from (f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1))
