"""Which paths differ between two snapshots, told from their indexes alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, Tree, is_same_mode

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


class WholeDirectory(msgspec.Struct, frozen=True):
    """A directory that one side lacks, with all that is in it."""

    action: Action
    path: bytes
    files: int
    """Everything in it that is no directory."""
    bytes: int


def whole_directories(
    changes: Mapping[bytes, Action], older: Tree, newer: Tree
) -> Iterator[WholeDirectory]:
    """The directories that were added or removed and held anything, without those inside of them."""
    inside: list[bytes] = []
    top = b""
    # In this order all that a directory holds follows it at once: `a`, `a/b`, `a.b`.
    for path in [*sorted(changes, key=lambda one: one.replace(b"/", b"\0")), b""]:
        if top and path.startswith(top + b"/"):
            inside.append(path)
            continue
        if inside:
            tree = newer if changes[top] == "added" else older
            yield _whole(changes[top], top, tree, inside)
        inside, top = [], path if changes.get(path) in {"added", "removed"} else b""


def _whole(action: Action, top: bytes, tree: Tree, inside: list[bytes]) -> WholeDirectory:
    entries = [entry for entry in map(tree.find, inside) if entry is not None]
    files = [entry for entry in entries if tree.mode[entry] & KIND_MASK != DIRECTORY]
    return WholeDirectory(action, top, len(files), sum(tree.size[entry] for entry in files))


def _paths(index: Index) -> Iterator[tuple[int, bytes]]:
    for group, prefix in index.groups():
        first, end = index.first[group], index.first[group + 1]
        for entry, name in zip(range(first, end), index.names.slice(first, end), strict=True):
            yield entry, prefix + name


def _is_same(older: Index, before: int, newer: Index, after: int) -> bool:
    if not is_same_mode(older.mode[before], newer.mode[after]):
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
