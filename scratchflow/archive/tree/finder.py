"""Finds many entries of a tree by their paths: each directory on the way is looked for once."""

from __future__ import annotations

from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, Tree


class PathFinder:
    """As `Tree.find`, for a tree that stays as it is. Threads may share it."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._groups: dict[bytes, int | None] = {}  # by path; None where no directory is

    def find(self, path: bytes) -> int | None:
        """The entry at this path, or None."""
        above, slash, name = path.rpartition(b"/")
        group = self._group(above) if slash else 0
        return None if group is None else self._tree.find_in(group, name)

    def _group(self, path: bytes) -> int | None:
        """The group of the directory at this path."""
        unknown = [path]
        while unknown[-1] not in self._groups:
            above, slash, _ = unknown[-1].rpartition(b"/")
            if not slash:
                break
            unknown.append(above)
        for inside in reversed(unknown):
            if inside not in self._groups:
                self._groups[inside] = self._group_in_known(inside)
        return self._groups[path]

    def _group_in_known(self, path: bytes) -> int | None:
        above, slash, name = path.rpartition(b"/")
        parent = self._groups[above] if slash else 0
        entry = None if parent is None else self._tree.find_in(parent, name)
        if entry is None or self._tree.mode[entry] & KIND_MASK != DIRECTORY:
            return None
        return self._tree.group_at(entry)
