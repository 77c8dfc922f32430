"""Walks the workspace and notes every entry's metadata; reads no file content."""

from __future__ import annotations

import os
import stat
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

from scratchflow.archive.dirfds import OPEN_DIRECTORY, DirectoryHandles
from scratchflow.archive.ignore import CACHE_TAG, IgnoreRules, Matcher, is_cache_directory
from scratchflow.archive.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK, Tree

Warn = Callable[[str, bytes, str], None]  # (code, path from scratch down, what happened)
Roots = dict[bytes, "Roots"]  # the directories above the roots as nested maps; a root maps to {}

_ENCODING = sys.getfilesystemencoding()
_TIME_LIMIT_NS = (1 << 63) - 1
# Ancestors that stay open during the walk; those further up are opened again when needed.
_KEPT_OPEN = 64
_KIND_WORDS = {stat.S_IFSOCK: "a socket", stat.S_IFIFO: "a FIFO"}


class ScannedTree(Tree):
    """A tree as it was on disk: also knows inodes and change times, and where it lies."""

    def __init__(self, scratch: Path) -> None:
        super().__init__()
        self.scratch = scratch
        self.inode = array("Q")
        self.ctime_ns = array("q")
        self.started_ns = time.time_ns()

    def handles(self) -> DirectoryHandles:
        """Opens the directories of this tree, for reading its files."""
        return DirectoryHandles(self, os.fsencode(self.scratch))


def scan_tree(scratch: Path, roots: Sequence[str], rules: IgnoreRules, warn: Warn) -> ScannedTree:
    """Notes everything beneath `scratch` that belongs to one of the `roots` (relative paths).

    A root that does not exist is left out without a word: whether that is a mistake is for the
    caller to say. Directories above a root, when it is nested, are kept with that root alone.
    """
    walk = _Walk(ScannedTree(scratch), rules, warn)
    try:
        walk.enter_scratch(_nested(roots))
        while walk.open:
            walk.step()
    finally:
        walk.close()
    walk.tree.connect()
    return walk.tree


def _nested(roots: Sequence[str]) -> Roots:
    nested: Roots = {}
    for root in roots:
        if any(root.startswith(other + "/") for other in roots):
            continue  # saved with the root that holds it
        inside = nested
        for part in os.fsencode(root).split(b"/"):
            inside = inside.setdefault(part, {})
    return nested


class _Directory:
    """A directory on the way down: what is left to enter, and what its root ignores."""

    __slots__ = ("descriptor", "matcher", "name", "path", "root_length", "roots", "waiting")

    def __init__(self, descriptor: int, name: bytes, path: bytes) -> None:
        self.descriptor = descriptor
        self.name = name
        self.path = path  # from scratch down, with a slash at the end unless it is scratch itself
        self.roots: Roots = {}  # not empty above a root: only these are looked at
        self.matcher: Matcher | None = None
        self.root_length = 0
        self.waiting: list[bytes] = []  # subdirectories still to be entered, last name first

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class _Walk:
    """One walk, depth first, without recursion: directories may nest thousands deep."""

    def __init__(self, tree: ScannedTree, rules: IgnoreRules, warn: Warn) -> None:
        self.tree = tree
        self.rules = rules
        self.warn = warn
        self.open: list[_Directory] = []
        self.linked: dict[tuple[int, int], int] = {}  # (device, inode) -> first entry of that file

    def enter_scratch(self, roots: Roots) -> None:
        scratch = _Directory(os.open(os.fsencode(self.tree.scratch), OPEN_DIRECTORY), b"", b"")
        scratch.roots = roots
        self.open.append(scratch)
        self._list(scratch)

    def close(self) -> None:
        for directory in self.open:
            directory.close()

    def step(self) -> None:
        """Enters the next directory that waits, or leaves the innermost one."""
        above = self.open[-1]
        if not above.waiting:
            self.open.pop().close()
            return
        name = above.waiting.pop()
        try:
            descriptor = os.open(name, OPEN_DIRECTORY, dir_fd=self._reopened(above))
        except OSError as error:
            self.tree.children.append(0)
            self._unreadable(above.path + name, error)
            return
        inside = _Directory(descriptor, name, above.path + name + b"/")
        if above.roots:
            inside.roots = above.roots[name]
            inside.root_length = len(inside.path)
            inside.matcher = None if inside.roots else self.rules.for_root(descriptor)
        else:
            inside.matcher, inside.root_length = above.matcher, above.root_length
        self.open.append(inside)
        if len(self.open) > _KEPT_OPEN:
            self.open[-_KEPT_OPEN].close()
        self._list(inside)

    def _reopened(self, directory: _Directory) -> int:
        """The descriptor of the innermost directory, opened anew when it was too far up to keep."""
        if directory.descriptor >= 0:
            return directory.descriptor
        nearest = len(self.open) - 1
        while nearest > 0 and self.open[nearest].descriptor < 0:
            nearest -= 1
        at = self.open[nearest].descriptor
        if at < 0:
            at = os.open(os.fsencode(self.tree.scratch), OPEN_DIRECTORY)
            self.open[nearest].descriptor = at
        for below in self.open[nearest + 1 :]:
            inside = os.open(below.name, OPEN_DIRECTORY, dir_fd=at)
            if at != self.open[nearest].descriptor:
                os.close(at)
            at = inside
        directory.descriptor = at
        return at

    def _unreadable(self, path: bytes, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            self.warn("files.unreadable", path, f"cannot be read: {error.strerror}")

    def _list(self, directory: _Directory) -> None:
        """Appends the group of an open directory, a column at a time: the hot part of a scan."""
        tree = self.tree
        try:
            found = _entries(directory)
        except OSError as error:
            self._unreadable(directory.path, error)
            found = []
        if directory.matcher:
            found = _without_ignored(directory, directory.matcher, found)
        base = len(tree)
        special = [
            (name, stats)
            for name, stats in found
            if stats.st_mode & KIND_MASK != REGULAR or stats.st_nlink > 1
        ]
        if special:
            refused = {
                name for name, stats in special if not self._can_hold(directory, name, stats)
            }
            if refused:
                found = [pair for pair in found if pair[0] not in refused]
            self._note_special(directory, found, base)
        stats_list = [stats for _, stats in found]
        tree.names.extend([name for name, _ in found])
        tree.mode.extend([stats.st_mode for stats in stats_list])
        tree.size.extend([s.st_size if s.st_mode & KIND_MASK == REGULAR else 0 for s in stats_list])
        tree.mtime_ns += _time_column([stats.st_mtime_ns for stats in stats_list])
        tree.ctime_ns += _time_column([stats.st_ctime_ns for stats in stats_list])
        tree.inode.extend([stats.st_ino for stats in stats_list])
        tree.children.append(len(found))
        directory.waiting.reverse()

    def _can_hold(self, directory: _Directory, name: bytes, stats: os.stat_result) -> bool:
        kind = stats.st_mode & KIND_MASK
        if kind in {REGULAR, DIRECTORY}:
            return True
        if kind == SYMLINK:
            return self._read_target(directory, name)
        what = _KIND_WORDS.get(kind, "a device")
        self.warn("files.skipped", directory.path + name, f"is {what}, which is not saved")
        return False

    def _note_special(
        self, directory: _Directory, found: list[tuple[bytes, os.stat_result]], base: int
    ) -> None:
        """Notes what links and directories need besides the columns."""
        for number, (name, stats) in enumerate(found, base):
            kind = stats.st_mode & KIND_MASK
            if kind == DIRECTORY:
                directory.waiting.append(name)
            elif kind == SYMLINK:
                self.tree.symlinks.append(number)
            elif stats.st_nlink > 1:
                first = self.linked.setdefault((stats.st_dev, stats.st_ino), number)
                if first != number:
                    self.tree.hardlinks[number] = first

    def _read_target(self, directory: _Directory, name: bytes) -> bool:
        try:
            self.tree.targets.append(os.readlink(name, dir_fd=directory.descriptor))
        except OSError as error:
            self._unreadable(directory.path + name, error)
            return False
        return True


def _without_ignored(
    directory: _Directory, matcher: Matcher, found: list[tuple[bytes, os.stat_result]]
) -> list[tuple[bytes, os.stat_result]]:
    prefix = directory.path[directory.root_length :]
    return [
        (name, stats)
        for name, stats in found
        if not matcher(prefix + name, name, stats.st_mode & KIND_MASK == DIRECTORY)
    ]


def _entries(directory: _Directory) -> list[tuple[bytes, os.stat_result]]:
    """Name and metadata of everything in an open directory, sorted by name."""
    if directory.roots:
        return _named_entries(directory.descriptor, directory.roots)
    found = []
    with os.scandir(directory.descriptor) as entries:
        for entry in entries:
            try:
                stats = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # gone since it was listed: as if it had never been there
            found.append((entry.name.encode(_ENCODING, "surrogateescape"), stats))
    found.sort()
    if any(name == CACHE_TAG for name, _ in found) and is_cache_directory(directory.descriptor):
        return [pair for pair in found if pair[0] == CACHE_TAG]
    return found


def _named_entries(descriptor: int, names: Roots) -> list[tuple[bytes, os.stat_result]]:
    listed = set(os.listdir(descriptor))
    return [
        (name, os.stat(name, dir_fd=descriptor, follow_symlinks=False))
        for name in sorted(names)
        if os.fsdecode(name) in listed
    ]


def _time_column(times_ns: list[int]) -> array[int]:
    try:
        return array("q", times_ns)
    except OverflowError:
        return array("q", map(clamped_ns, times_ns))


def clamped_ns(time_ns: int) -> int:
    """A time as the columns hold it: years 1677 to 2262, further ones at the edge."""
    return max(-_TIME_LIMIT_NS, min(time_ns, _TIME_LIMIT_NS))
