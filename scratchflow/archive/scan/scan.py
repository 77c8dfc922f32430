"""A workspace as it is on disk: everybody's metadata, no file content.

The walk is shared out to forked processes. A thread would not help, because most of a walk holds the
interpreter's lock.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Sequence
from itertools import repeat
from operator import add
from pathlib import Path
from types import TracebackType

from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.files.mounts import mounts_inside
from scratchflow.archive.progress import usable_cores
from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.part import Part, clamped_ns
from scratchflow.archive.scan.shared_walk import SharedWalk
from scratchflow.archive.scan.walk import Directory, Roots, Walk, Warn
from scratchflow.archive.tree.tree import Tree
from scratchflow.disk.mapped import inodes_mapped_for_writing

__all__ = ["Scan", "ScannedTree", "Warn", "clamped_ns", "scan_tree"]

_MAX_HELPERS = 7


class ScannedTree(Tree):
    """A tree as it was on disk: also knows inodes and change times, and where it lies."""

    def __init__(self, scratch: Path) -> None:
        super().__init__()
        self.scratch = scratch
        self.inode = array("Q")
        self.ctime_ns = array("q")
        self.started_ns = time.time_ns()
        self.mapped: set[int] = set()  # inodes of files whose stamps may not tell of every write

    def handles(self) -> DirectoryHandles:
        """Opens the directories of this tree, for reading its files."""
        return DirectoryHandles(self, os.fsencode(self.scratch))

    def is_mount_point(self, entry: int) -> bool:
        """Whether something is mounted over this directory: nobody looked at it."""
        return self.inode[entry] == 0


def scan_tree(scratch: Path, roots: Sequence[str], rules: IgnoreRules, warn: Warn) -> ScannedTree:
    """Notes everything beneath `scratch` that belongs to one of the `roots` (relative paths).

    A root that does not exist is left out without a word: whether that is a mistake is for the
    caller to say. Directories above a root, when it is nested, are kept with that root alone.
    """
    with Scan(scratch, roots, rules) as scan:
        return scan.finish(warn)


class Scan:
    """A scan that has begun: helpers are at work while the caller does something else."""

    def __init__(
        self, scratch: Path, roots: Sequence[str], rules: IgnoreRules, helpers: int | None = None
    ) -> None:
        self.roots = list(roots)
        # No symlink is followed from here down, but scratch itself may be one.
        scratch = Path(os.path.realpath(scratch))
        self._tree = ScannedTree(scratch)
        self._tree.roots = self.roots
        self._linked: dict[tuple[int, int], int] = {}  # (device, inode) -> first entry of that file
        walk = Walk(os.fsencode(scratch), rules, mounts_inside(scratch, self.roots))
        top = Directory(None, b"", b"")
        top.roots = _nested(roots)
        count = min(usable_cores() - 1, _MAX_HELPERS) if helpers is None else helpers
        self._walk = SharedWalk(walk, top, count)

    def __enter__(self) -> Scan:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._walk.close()

    @property
    def helper_processes(self) -> list[int]:
        """The processes that take part."""
        return self._walk.processes

    def finish(self, warn: Warn, like: Tree | None = None) -> ScannedTree:
        """Walks whatever nobody has begun with, and puts everything together in order.

        That takes less time when `like`, another tree, has the same paths.
        """
        # After the start, before any file is read: what is mapped later gets a later stamp.
        self._tree.mapped = inodes_mapped_for_writing()
        for part in self._walk.parts():
            self._append(part, warn)
        if like is not None and self._tree.has_shape_of(like):
            self._tree.take_shape_of(like)
        else:
            self._tree.connect()
        return self._tree

    def _append(self, part: Part, warn: Warn) -> None:
        tree, base = self._tree, len(self._tree)
        for warning in part.warnings:
            warn(*warning)
        for column in Part.COLUMNS:
            getattr(tree, column).extend(getattr(part, column))
        tree.names.extend_packed(part.names)
        tree.targets.extend_packed(part.targets)
        tree.symlinks.extend(map(add, part.symlinks, repeat(base)))
        for entry, device, inode in part.linked:
            first = self._linked.setdefault((device, inode), base + entry)
            if first != base + entry:
                tree.hardlinks[base + entry] = first


def _nested(roots: Sequence[str]) -> Roots:
    nested: Roots = {}
    for root in roots:
        if any(root.startswith(other + "/") for other in roots):
            continue  # saved with the root that holds it
        inside = nested
        for part in os.fsencode(root).split(b"/"):
            inside = inside.setdefault(part, {})
    return nested
