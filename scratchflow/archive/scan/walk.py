"""Walks directories and notes the metadata of everything in them."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Collection

from scratchflow.archive.files.handles import OPEN_DIRECTORY
from scratchflow.archive.files.mounts import MOUNTED_FILE, NOT_ENTERED, NOT_SAVED, Mounts, stand_ins
from scratchflow.archive.scan.ignore import CACHE_TAG, IgnoreRules, Matcher, is_cache_directory
from scratchflow.archive.scan.part import Part
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK

Warn = Callable[[str, bytes, str], None]  # (code, path from scratch down, what happened)
Roots = dict[bytes, "Roots"]  # the directories above the roots as nested maps; a root maps to {}

_ENCODING = sys.getfilesystemencoding()
# Ancestors that stay open during the walk; those further up are opened again when needed.
_KEPT_OPEN = 64
_KIND_WORDS = {stat.S_IFSOCK: "a socket", stat.S_IFIFO: "a FIFO"}


def special_kind(kind: int) -> str:
    """What something is that is neither a file, a directory nor a symlink."""
    return _KIND_WORDS.get(kind, "a device")


class Directory:
    """A directory on the way down: what is left to enter, and what its root ignores."""

    __slots__ = (
        "above",
        "descriptor",
        "matcher",
        "name",
        "path",
        "root_length",
        "roots",
        "waiting",
    )

    def __init__(self, above: Directory | None, name: bytes, path: bytes) -> None:
        self.above = above
        self.descriptor = -1
        self.name = name
        self.path = path  # from scratch down, with a slash at the end unless it is scratch itself
        self.roots: Roots = {}  # not empty above a root: only these are looked at
        self.matcher: Matcher | None = None
        self.root_length = 0
        self.waiting: list[bytes] = []  # subdirectories still to be entered, last name first

    def below(self, name: bytes) -> Directory:
        """A directory inside, not open yet."""
        inside = Directory(self, name, self.path + name + b"/")
        if self.roots:
            inside.roots = self.roots[name]
            inside.root_length = len(inside.path)
        else:
            inside.matcher, inside.root_length = self.matcher, self.root_length
        return inside

    def down_to(self, path: bytes) -> Directory:
        """A directory further down, by its path from scratch down."""
        inside = self
        for name in path[len(self.path) : -1].split(b"/"):
            inside = inside.below(name)
        return inside

    @property
    def is_root(self) -> bool:
        """Whether this is one of the directories that were asked for."""
        return self.above is not None and bool(self.above.roots) and not self.roots

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class Walk:
    """One walk, depth first, without recursion: directories may nest thousands deep."""

    def __init__(self, scratch: bytes, rules: IgnoreRules, mounts: Mounts | None = None) -> None:
        self._scratch = scratch
        self._rules = rules
        self._mounts = mounts or Mounts()
        self._part = Part()
        self._open: list[Directory] = []

    def beneath(self, top: Directory) -> Part:
        """Everything beneath a directory, which comes first."""
        return self.begun_beneath(top, lambda _: False)[0]

    def begun_beneath(
        self, top: Directory, is_enough: Callable[[int], bool]
    ) -> tuple[Part, list[Directory]]:
        """The same, until so many entries are enough; then also what has yet to be entered, in order.

        What it finds out about a root, or on the way to one, is not known to others: of that, nothing is left.
        """
        part = self._part = Part()
        left: list[Directory] = []
        may_leave = not (top.roots or top.is_root)
        try:
            self._enter_top(top)
            while self._open:
                if may_leave and is_enough(len(part)):
                    left = [
                        directory.below(name)
                        for directory in reversed(self._open)
                        for name in reversed(directory.waiting)
                    ]
                    break
                self._step()
        finally:
            self._close()
        part.settle()
        return part, left

    def only(self, top: Directory) -> Part:
        """What is in one directory; what is to be entered then waits in it."""
        self._part = Part()
        try:
            self._enter_top(top)
        finally:
            self._close()
        self._part.settle()
        return self._part

    def _close(self) -> None:
        for directory in self._open:
            directory.close()
        self._open.clear()

    def _enter_top(self, top: Directory) -> None:
        """Opens the directory from scratch down, no symlink followed on the way."""
        if self._is_mounted(top):
            return
        self._open = [top]
        while self._open[0].above:
            above = self._open[0].above
            # Of its own: the one above has names waiting that are none of this walk's business.
            self._open.insert(0, again := Directory(above.above, above.name, above.path))
            again.roots = above.roots
        try:
            self._open[0].descriptor = os.open(self._scratch, OPEN_DIRECTORY)
            for above, inside in zip(self._open, self._open[1:], strict=False):
                inside.descriptor = os.open(inside.name, OPEN_DIRECTORY, dir_fd=above.descriptor)
        except OSError as error:
            if not top.above:
                raise
            self._part.children.append(0)
            self._part.warn_unreadable(top.path.rstrip(b"/"), error)
            return
        self._list(top)

    def _step(self) -> None:
        """Enters the next directory that waits, or leaves the innermost one."""
        above = self._open[-1]
        if not above.waiting:
            self._open.pop().close()
            return
        inside = above.below(above.waiting.pop())
        if self._is_mounted(inside):
            return
        try:
            inside.descriptor = os.open(inside.name, OPEN_DIRECTORY, dir_fd=self._reopened(above))
        except OSError as error:
            self._part.children.append(0)
            self._part.warn_unreadable(inside.path.rstrip(b"/"), error)
            return
        self._open.append(inside)
        if len(self._open) > _KEPT_OPEN:
            self._open[-_KEPT_OPEN].close()
        self._list(inside)

    def _is_mounted(self, directory: Directory) -> bool:
        """Whether a directory is a mount point, which is then noted as an empty one."""
        if not (self._mounts and directory.above and self._mounts.has(directory.path)):
            return False
        self._part.children.append(0)
        self._part.warnings.append(("files.mounted", directory.path[:-1], NOT_ENTERED))
        return True

    def _reopened(self, directory: Directory) -> int:
        """The descriptor of the innermost directory, opened anew when it was too far up to keep."""
        if directory.descriptor >= 0:
            return directory.descriptor
        nearest = len(self._open) - 1
        while nearest > 0 and self._open[nearest].descriptor < 0:
            nearest -= 1
        at = self._open[nearest].descriptor
        if at < 0:
            at = os.open(self._scratch, OPEN_DIRECTORY)
            self._open[nearest].descriptor = at
        for below in self._open[nearest + 1 :]:
            inside = os.open(below.name, OPEN_DIRECTORY, dir_fd=at)
            if at != self._open[nearest].descriptor:
                os.close(at)
            at = inside
        directory.descriptor = at
        return at

    def _list(self, directory: Directory) -> None:
        """Appends the group of an open directory, a column at a time: the hot part of a scan."""
        part = self._part
        if directory.is_root:
            directory.matcher = self._rules.for_root(directory.descriptor)
        try:
            names, found = _entries(directory, self._mounts) if self._mounts else _plain(directory)
        except OSError as error:
            part.warn_unreadable(directory.path, error)
            names, found = [], []
        if directory.matcher:
            names, found = _without_ignored(directory, directory.matcher, names, found)
        if not all(s.st_nlink == 1 and s.st_mode & KIND_MASK == REGULAR for s in found):
            names, found = self._note_special(directory, names, found)
        part.add_group(names, found)

    def _note_special(
        self, directory: Directory, names: list[bytes], found: list[os.stat_result]
    ) -> tuple[list[bytes], list[os.stat_result]]:
        """Notes what links and directories need besides the columns; returns what can be saved."""
        part = self._part
        kept_names: list[bytes] = []
        kept: list[os.stat_result] = []
        base = len(part)
        for name, stats in zip(names, found, strict=True):
            kind = stats.st_mode & KIND_MASK
            if kind == DIRECTORY:
                directory.waiting.append(name)
            elif kind == SYMLINK:
                if not self._read_target(directory, name):
                    continue
                part.symlinks.append(base + len(kept))
            elif kind == MOUNTED_FILE:
                part.warnings.append(("files.mounted", directory.path + name, NOT_SAVED))
                continue
            elif kind != REGULAR:
                what = f"is {special_kind(kind)}, which is not saved"
                warning = "files.skipped", directory.path + name, what
                part.warnings.append(warning)
                continue
            elif stats.st_nlink > 1:
                part.linked.append((base + len(kept), stats.st_dev, stats.st_ino))
            kept_names.append(name)
            kept.append(stats)
        directory.waiting.reverse()
        return kept_names, kept

    def _read_target(self, directory: Directory, name: bytes) -> bool:
        try:
            self._part.targets.append(os.readlink(name, dir_fd=directory.descriptor))
        except OSError as error:
            self._part.warn_unreadable(directory.path + name, error)
            return False
        return True


def _without_ignored(
    directory: Directory, matcher: Matcher, names: list[bytes], found: list[os.stat_result]
) -> tuple[list[bytes], list[os.stat_result]]:
    prefix = directory.path[directory.root_length :]
    kept = [
        (name, stats)
        for name, stats in zip(names, found, strict=True)
        if not matcher(prefix + name, name, stats.st_mode & KIND_MASK == DIRECTORY)
    ]
    return [name for name, _ in kept], [stats for _, stats in kept]


def _entries(directory: Directory, mounts: Mounts) -> tuple[list[bytes], list[os.stat_result]]:
    """The same as `_plain` where there are mount points somewhere in the tree."""
    mounted = mounts.names_in(directory.path)
    names, found = _plain(directory, mounted)
    if mounts.by_device and not directory.roots:
        device = os.fstat(directory.descriptor).st_dev
        mounts.note_other_devices(directory.path, device, names, found)
    if not mounted:
        return names, found
    both = dict(zip(names, found, strict=True)) | stand_ins(directory.descriptor, mounted)
    return sorted(both), [both[name] for name in sorted(both)]


def _plain(
    directory: Directory, without: Collection[bytes] = ()
) -> tuple[list[bytes], list[os.stat_result]]:
    """Names and metadata of everything in an open directory, sorted by name."""
    descriptor = directory.descriptor
    listed = os.listdir(descriptor)
    # All in one go: there is nothing but a name between two NULs.
    names = sorted("\0".join(listed).encode(_ENCODING, "surrogateescape").split(b"\0"))
    if not listed:
        return [], []
    if directory.roots:
        names = [name for name in names if name in directory.roots]
    elif CACHE_TAG in names and not directory.is_root and is_cache_directory(descriptor):
        names = [CACHE_TAG]
    if without:
        names = [name for name in names if name not in without]
    lstat = os.lstat
    try:
        return names, [lstat(name, dir_fd=descriptor) for name in names]
    except FileNotFoundError:
        return _still_there(descriptor, names)


def _still_there(descriptor: int, names: list[bytes]) -> tuple[list[bytes], list[os.stat_result]]:
    """The same where something vanished since it was listed: as if it had never been there."""
    kept: list[bytes] = []
    found: list[os.stat_result] = []
    for name in names:
        try:
            found.append(os.stat(name, dir_fd=descriptor, follow_symlinks=False))
        except FileNotFoundError:
            continue
        kept.append(name)
    return kept, found
