"""Files of a tree moved to where nothing has their names: what is there already is never replaced."""

from __future__ import annotations

import filecmp
import os
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from scratchflow.disk.durable import publish_new


class Placing(msgspec.Struct, frozen=True):
    """The names that are to be moved, and those in whose place something else is."""

    new: list[str]
    differing: list[str]


def compare_names(tree: Path, names: Iterable[str], target: Path) -> Placing:
    """What of the tree is missing in the target, and what is there as something else; equal files are neither."""
    new: list[str] = []
    differing: list[str] = []
    for name in names:
        if (obstacle := _obstacle(target, name)) is not None:
            differing.append(obstacle)
        elif not os.path.lexists(target / name):
            new.append(name)
        elif not is_same(tree / name, target / name):
            differing.append(name)
    return Placing(new, [*dict.fromkeys(differing)])


def _obstacle(target: Path, name: str) -> str | None:
    """The part of the way that is no directory; a link would lead elsewhere."""
    at = target
    for part in Path(name).parts[:-1]:
        at /= part
        if os.path.islink(at) or (at.exists() and not at.is_dir()):
            return os.path.relpath(at, target)
    return None


def is_same(one: Path, other: Path) -> bool:
    """Whether two files have the same bytes, or two links the same text."""
    kinds = [stat.S_IFMT(os.lstat(path).st_mode) for path in (one, other)]
    if kinds[0] != kinds[1]:
        return False
    if kinds[0] == stat.S_IFLNK:
        return os.readlink(one) == os.readlink(other)
    return kinds[0] == stat.S_IFREG and filecmp.cmp(one, other, shallow=False)


def place_new(tree: Path, names: Iterable[str], target: Path) -> None:
    """Moves them, each whole; FileExistsError when somebody else was quicker. Both are on one file system."""
    for name in names:
        there = target / name
        there.parent.mkdir(parents=True, exist_ok=True)
        publish_new(tree / name, there)
