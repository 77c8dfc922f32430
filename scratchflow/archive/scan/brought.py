"""A directory from anywhere, scanned as if it were a root: for `create --from`."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable
from pathlib import Path

from scratchflow.archive.files.handles import OPEN_DIRECTORY, DirectoryHandles
from scratchflow.archive.files.mounts import mounts_inside
from scratchflow.archive.scan.ignore import CACHE_TAG, IgnoreRules, Matcher
from scratchflow.archive.scan.part import Part, clamped_ns
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.scan.walk import Directory, Walk, Warn
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, Tree
from scratchflow.disk.mapped import inodes_mapped_for_writing

# The first few paths that were left out are told by name.
_NAMED = 10
_PRIVATE = 0o700


class BringRules(IgnoreRules):
    """The profile's patterns and the directory's `.scratchignore`; remembers what they left out.

    With `tracked`, the paths that git lists, everything else is left out, except the repository in `.git`
    and what submodules have by that name.
    """

    def __init__(self, exclude: Iterable[str], tracked: Iterable[bytes] | None = None) -> None:
        super().__init__(list(exclude))
        self._known = None if tracked is None else _with_parents(tracked)
        self.left_out = 0
        self.first_left_out: list[bytes] = []

    def for_root(self, descriptor: int) -> Matcher:
        matches = super().for_root(descriptor)
        known = self._known

        def leaves_out(path: bytes, name: bytes, is_directory: bool) -> bool:  # noqa: FBT001 - as the walk calls it
            ignored = matches is not None and matches(path, name, is_directory)
            if not ignored and known is not None:
                ignored = path not in known and not _is_of_git(path, known)
            if ignored:
                self.note(path + b"/" * is_directory)
            return ignored

        return leaves_out

    def note(self, path: bytes) -> None:
        """Counts a path that was left out."""
        self.left_out += 1
        if len(self.first_left_out) < _NAMED:
            self.first_left_out.append(path)


def _is_of_git(path: bytes, known: set[bytes]) -> bool:
    """Whether it is the repository, or that of a submodule, or a submodule's pointer to it."""
    parts = path.split(b"/")
    if b".git" not in parts:
        return False
    owner = b"/".join(parts[: parts.index(b".git")])
    return not owner or owner in known


def _with_parents(paths: Iterable[bytes]) -> set[bytes]:
    known: set[bytes] = set()
    for path in paths:
        above = path
        while above and above not in known:
            known.add(above)
            above = above.rpartition(b"/")[0]
    return known


class BroughtTree(ScannedTree):
    """The tree of a directory, as the root `name` of an archive, which may be nested."""

    def __init__(self, directory: Path, name: str) -> None:
        super().__init__(directory)
        self.roots = [name]
        self.parts = os.fsencode(name).split(b"/")

    def handles(self) -> DirectoryHandles:
        return _BroughtHandles(self, os.fsencode(self.scratch), len(self.parts))


class _BroughtHandles(DirectoryHandles):
    """The root's group is the directory itself, whatever it is called; nobody needs what is above it."""

    def __init__(self, tree: Tree, directory: bytes, root_group: int) -> None:
        super().__init__(tree, directory)
        self._root_group = root_group

    def _open_down(self, ancestor: int, missing: list[int]) -> int:
        below = [group for group in missing if group > self._root_group]
        return super()._open_down(ancestor if len(below) == len(missing) else 0, below)


def scan_directory(directory: Path, name: str, rules: BringRules, warn: Warn) -> BroughtTree:
    """Everything in `directory` that the rules let through. Symlinks in it are not followed.

    The root gets the mode that a workspace has. Raises the OSError of a directory that cannot be read.
    """
    real = Path(os.path.realpath(directory))
    tree = BroughtTree(real, name)
    tree.mapped = inodes_mapped_for_writing()
    part = Walk(os.fsencode(real), rules, mounts_inside(real, [])).beneath(_top(real, rules))
    for code, path, message in part.warnings:
        warn(code, os.path.join(os.fsencode(directory), path), message)
    _put_root(tree, os.stat(real))
    _append(tree, part)
    tree.connect()
    _open_unreadable(tree, part)
    _note_caches(tree, rules)
    return tree


def _top(directory: Path, rules: BringRules) -> Directory:
    descriptor = os.open(directory, OPEN_DIRECTORY)
    try:
        top = Directory(None, b"", b"")
        top.matcher = rules.for_root(descriptor)
    finally:
        os.close(descriptor)
    return top


def _put_root(tree: BroughtTree, stats: os.stat_result) -> None:
    for name in tree.parts:
        tree.names.append(name)
        tree.mode.append(DIRECTORY | _PRIVATE)
        tree.size.append(0)
        tree.mtime_ns.append(clamped_ns(stats.st_mtime_ns))
        tree.ctime_ns.append(clamped_ns(stats.st_ctime_ns))
        # Of what is above the root nothing is read, as of a mount point.
        tree.inode.append(stats.st_ino if name is tree.parts[-1] else 0)
        tree.children.append(1)


def _append(tree: BroughtTree, part: Part) -> None:
    for column in Part.COLUMNS:
        getattr(tree, column).extend(getattr(part, column))
    tree.names.extend_packed(part.names)
    tree.targets.extend_packed(part.targets)
    base = len(tree.parts)
    tree.symlinks = array("I", [base + entry for entry in part.symlinks])
    first_of: dict[tuple[int, int], int] = {}
    for entry, device, inode in part.linked:
        first = first_of.setdefault((device, inode), base + entry)
        if first != base + entry:
            tree.hardlinks[base + entry] = first


def _open_unreadable(tree: BroughtTree, part: Part) -> None:
    """A directory that could not be read arrives empty. There its owner may enter it: nothing is hidden in it."""
    for _, path, _ in part.warnings:
        entry = tree.find(b"/".join([*tree.parts, path.rstrip(b"/")]))
        if entry is not None and tree.mode[entry] & KIND_MASK == DIRECTORY:
            tree.mode[entry] |= _PRIVATE


def _note_caches(tree: BroughtTree, rules: BringRules) -> None:
    """Directories of which only their CACHEDIR.TAG was taken."""
    for group, prefix in tree.groups():
        first, end = tree.first[group], tree.first[group + 1]
        if end == first + 1 and tree.names[first] == CACHE_TAG:
            rules.note(b"/".join(prefix.split(b"/")[len(tree.parts) :]))
