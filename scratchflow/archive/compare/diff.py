"""Which paths differ between two snapshots, told from their indexes alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR

Action = Literal["added", "removed", "changed"]


def difference(older: Index, newer: Index) -> Iterator[tuple[Action, bytes]]:
    """Each path that was added, removed or changed, in the order of the newer tree, removals by path.

    A directory's mtime alone is no change: it moves with every passing temporary file. Content is
    compared by digest; between snapshots that do not share a history, by size and mtime.
    """
    known = {path: entry for entry, path in _paths(older)}
    for entry, path in _paths(newer):
        before = known.pop(path, None)
        if before is None:
            yield "added", path
        elif not _is_same(older, before, newer, entry):
            yield "changed", path
    for path in sorted(known):
        yield "removed", path


def _paths(index: Index) -> Iterator[tuple[int, bytes]]:
    for group, prefix in index.groups():
        first, end = index.first[group], index.first[group + 1]
        for entry, name in zip(range(first, end), index.names.slice(first, end), strict=True):
            yield entry, prefix + name


def _is_same(older: Index, before: int, newer: Index, after: int) -> bool:
    if older.mode[before] != newer.mode[after]:
        return False
    kind = newer.mode[after] & KIND_MASK
    if kind == DIRECTORY:
        return True
    if kind != REGULAR:
        return older.target(before) == newer.target(after)
    if older.size[before] != newer.size[after]:
        return False
    if older.seed == newer.seed:
        return older.digest_of(before) == newer.digest_of(after)
    return older.mtime_ns[before] == newer.mtime_ns[after]
