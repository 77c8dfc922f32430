"""How much of a tree lies beneath each of its roots."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

import msgspec

from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, Tree


class RootSize(msgspec.Struct, frozen=True):
    """Files and their bytes; a file with several names beneath the root counts its bytes once."""

    files: int = 0
    bytes: int = 0


def root_sizes(
    tree: Tree, roots: Iterable[str], left_out: Collection[int] = ()
) -> dict[str, RootSize]:
    """The size of each root, by its path beneath scratch; a root that is not in the tree is empty.

    Files that are `left_out` (entry numbers) do not count.
    """
    return {root: _size_of(tree, root, left_out) for root in roots}


def files_at(tree: Tree, paths: Iterable[bytes]) -> set[int]:
    """The entries of the files that have one of these paths, or lie beneath it."""
    found: set[int] = set()
    for path in paths:
        entry = tree.find(path)
        if entry is None:
            continue
        inside = range(entry, entry + 1)
        if tree.mode[entry] & KIND_MASK == DIRECTORY:
            group = tree.group_at(entry)
            inside = range(tree.first[group], tree.first[_end_group(tree, group)])
        found.update(one for one in inside if tree.mode[one] & KIND_MASK == REGULAR)
    return found


def _size_of(tree: Tree, root: str, left_out: Collection[int]) -> RootSize:
    entry = tree.find(os.fsencode(root))
    if entry is None or entry in left_out:
        return RootSize()
    if tree.mode[entry] & KIND_MASK != DIRECTORY:
        return RootSize(int(tree.mode[entry] & KIND_MASK == REGULAR), tree.size[entry])
    group = tree.group_at(entry)
    # Groups lie depth first, so everything beneath a directory is one range of entries.
    start, end = tree.first[group], tree.first[_end_group(tree, group)]
    files = tree.kinds()[start:end].count(REGULAR >> 12)
    missing = {one for one in left_out if start <= one < end}
    size_bytes = sum(tree.size[start:end]) - sum(tree.size[one] for one in missing)
    doubled_bytes = _doubled_bytes(tree, start, end, missing)
    return RootSize(files - len(missing), size_bytes - doubled_bytes)


def _end_group(tree: Tree, group: int) -> int:
    """The first group after those beneath this one."""
    while group:
        parent = tree.parent_group(group)
        _, siblings = tree.subdirectories(parent)
        later = [one for one in siblings if one > group]
        if later:
            return min(later)
        group = parent
    return tree.group_count


def _doubled_bytes(tree: Tree, start: int, end: int, missing: set[int]) -> int:
    """What further names of files add to the sum of all sizes, where none of `missing` is in it."""
    seen: set[int] = set()
    doubled = 0
    for entry, first in tree.hardlinks.items():
        if start <= entry < end and entry not in missing:
            if (start <= first < end and first not in missing) or first in seen:
                doubled += tree.size[entry]
            seen.add(first)
    return doubled
