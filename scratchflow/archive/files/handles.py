"""Directory descriptors opened one component at a time, so that no symlink is ever followed."""

from __future__ import annotations

import os
from collections import OrderedDict

from scratchflow.archive.tree.tree import Tree

OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Enough for every ancestor of an ordinary path, far below the usual limit of 1,024 descriptors.
_KEPT_OPEN = 64


class DirectoryHandles:
    """Descriptors of a tree's directories by group number; the most recent ones stay open.

    Opening starts at the nearest ancestor that is still open, so paths longer than PATH_MAX work
    and a directory swapped for a symlink fails with ELOOP or ENOTDIR. Not for sharing by threads.
    """

    def __init__(self, tree: Tree, root: str | bytes | int, kept_open: int = _KEPT_OPEN) -> None:
        self._tree = tree
        self._kept_open = max(kept_open, 2)
        self._open: OrderedDict[int, int] = OrderedDict()
        self._root = os.dup(root) if isinstance(root, int) else os.open(root, OPEN_DIRECTORY)

    def __enter__(self) -> DirectoryHandles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes every descriptor."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def get(self, group: int) -> int:
        """The descriptor of a group's directory; valid until a few dozen more have been asked for."""
        if group == 0:
            return self._root
        descriptor = self._open.get(group)
        if descriptor is not None:
            self._open.move_to_end(group)
            return descriptor
        missing = [group]
        while (parent := self._tree.parent_group(missing[-1])) and parent not in self._open:
            missing.append(parent)
        return self._open_down(parent, missing)

    def _open_down(self, ancestor: int, missing: list[int]) -> int:
        descriptor = self._open[ancestor] if ancestor else self._root
        for group in reversed(missing):
            name = self._tree.names[self._tree.entry_of[group]]
            descriptor = os.open(name, OPEN_DIRECTORY, dir_fd=descriptor)
            self._open[group] = descriptor
            if len(self._open) > self._kept_open:
                os.close(self._open.popitem(last=False)[1])
        return descriptor
