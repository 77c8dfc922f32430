"""The one check against loss: what a restore replaces or removes is held by a snapshot, or goes aside.

Held is what is still the file that was scanned for a snapshot (inode and change time are the same), or
has the bytes that the snapshot has at this path, or those that were just put in its place. Everything else gets
the name `<name>.before-<id>` in the same directory.

The new file and the old one swap names in one step, and what came out is looked at afterwards: nobody can
write in between unseen. Where the system cannot swap, the file is looked at right before the rename. A
process that holds a file open goes on writing into it after it was replaced; nothing can see that.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from array import array
from collections.abc import Callable, Collection

import msgspec

from scratchflow.archive.files.digest import digest_of_file, read_buffer
from scratchflow.archive.scan.scan import ScannedTree, Warn, clamped_ns
from scratchflow.archive.tree.finder import PathFinder
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR, SYMLINK
from scratchflow.disk.durable import TEMP_PREFIX
from scratchflow.disk.exchange import exchange, rename_free

_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_MAX_NAME_BYTES = 255
# How often somebody else may take away or bring back a name while we want it.
_TRIES = 100


class Held(msgspec.Struct, frozen=True):
    """What a snapshot holds of the files on disk: the scan that it was taken from, and its index."""

    scanned: ScannedTree
    index: Index | None = None  # None: whatever was scanned and not changed since counts as held
    flags: array[int] = msgspec.field(default_factory=lambda: array("B"))
    unsaved: Collection[bytes] = frozenset()  # paths that the snapshot could not take

    def is_proven(self, entry: int, path: bytes, found: os.stat_result) -> bool:
        """Whether this is the very file that was scanned and saved, by inode and change time."""
        scanned = self.scanned
        stamps = scanned.inode[entry], scanned.ctime_ns[entry]
        return (
            stamps == (found.st_ino, clamped_ns(found.st_ctime_ns))
            and scanned.mode[entry] & KIND_MASK == found.st_mode & KIND_MASK
            and not (self.flags and self.flags[entry])
            and path not in self.unsaved
        )


class FirstChange:
    """Calls back once, right before the first change that a restore makes."""

    def __init__(self, call: Callable[[], None] = lambda: None) -> None:
        self._call = call
        self._turn = threading.Lock()
        self.happened = False

    def __call__(self) -> None:
        if self.happened:
            return
        with self._turn:
            if not self.happened:
                self._call()
                self.happened = True


class Displacing(msgspec.Struct, frozen=True):
    """How a restore makes room: what is held, and by which id other things are moved aside."""

    held: Held | None
    before: str  # the id in `<name>.before-<id>`
    warn: Warn
    moved: list[bytes] = msgspec.field(default_factory=list)  # where things went, from scratch down
    before_change: FirstChange = msgspec.field(default_factory=FirstChange)
    clears: bool = False  # a file in the way of a directory is moved aside, too, instead of refused


class Displacer:
    """Gives names to finished files, and takes names from what is not wanted. One for each thread."""

    def __init__(self, displacing: Displacing) -> None:
        self._how = displacing
        self._suffix = os.fsencode(f".before-{displacing.before}")
        self._buffer: bytearray | None = None
        self._scanned = PathFinder(displacing.held.scanned) if displacing.held else None

    def put(self, directory: int, created: bytes, path: bytes, wanted: tuple[Index, int]) -> None:
        """Gives `created` the last name of `path`, which lies in the open directory."""
        name = _name_of(path)
        self._how.before_change()
        before = None
        for tries_left in reversed(range(_TRIES)):
            try:
                before = self._swapped(directory, created, name, path, wanted)
                break
            except (FileExistsError, FileNotFoundError):
                if not tries_left or not _look(created, directory):
                    raise
        if before is not None:
            self._dispose(directory, created, before, path, wanted)

    def remove(self, directory: int, path: bytes) -> bool:
        """Removes what should be a file or a link; False when it went aside instead."""
        name, temporary = _name_of(path), temporary_name()
        before = _look(name, directory)
        if before is None:
            return True
        self._how.before_change()
        rename_free(name, temporary, directory)
        return self._dispose(directory, temporary, before, path, None)

    def set_aside(self, directory: int, path: bytes) -> None:
        """Moves what lies at a path aside, whatever it is."""
        self._how.before_change()
        self._set_aside(directory, _name_of(path), path)

    def _swapped(
        self, directory: int, created: bytes, name: bytes, path: bytes, wanted: tuple[Index, int]
    ) -> os.stat_result | None:
        """Puts it in place; what was there has its name then, and is returned as it was before."""
        before = _look(name, directory)
        if before is None:
            rename_free(created, name, directory)
        elif exchange(created, name, directory):
            return before
        elif self._is_held(directory, name, before, path, wanted):
            os.replace(created, name, src_dir_fd=directory, dst_dir_fd=directory)
            _unlink(created, directory)  # rename does nothing when both are the same file already
        else:
            self._set_aside(directory, name, path)
            rename_free(created, name, directory)
        return None

    def _dispose(
        self,
        directory: int,
        name: bytes,
        before: os.stat_result,
        path: bytes,
        wanted: tuple[Index, int] | None,
    ) -> bool:
        """Deletes what was at `path` and has another name now, or moves it aside if it is not held."""
        if self._is_held(directory, name, before, path, wanted):
            os.unlink(name, dir_fd=directory)
            return True
        self._set_aside(directory, name, path)
        return False

    def _is_held(
        self,
        directory: int,
        name: bytes,
        before: os.stat_result,
        path: bytes,
        wanted: tuple[Index, int] | None,
    ) -> bool:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        held = self._how.held
        entry = self._scanned.find(path) if self._scanned else None
        # A rename changes the change time, so what came out is compared with the look before it.
        if (
            held is not None
            and entry is not None
            and _is_same(before, found)
            and held.is_proven(entry, path, before)
        ):
            return True
        known = [] if wanted is None else [wanted]
        if held is not None and held.index is not None:
            saved = held.index.find(path)
            known += [] if saved is None else [(held.index, saved)]
        return self.has_content(directory, name, found, known)

    def has_content(
        self, directory: int, name: bytes, found: os.stat_result, known: list[tuple[Index, int]]
    ) -> bool:
        """Whether a file has the bytes, or a link the target, of one of these entries."""
        kind = found.st_mode & KIND_MASK
        known = [(index, entry) for index, entry in known if index.mode[entry] & KIND_MASK == kind]
        if kind == SYMLINK:
            target = os.readlink(name, dir_fd=directory)
            return any(index.target(entry) == target for index, entry in known)
        known = [(index, entry) for index, entry in known if index.size[entry] == found.st_size]
        if kind != REGULAR or not known:
            return False
        return any(
            self._digest(directory, name, index.seed) == index.digest_of(entry)
            for index, entry in known
        )

    def _digest(self, directory: int, name: bytes, seed: int) -> bytes | None:
        self._buffer = self._buffer or read_buffer()
        try:
            descriptor = os.open(name, _OPEN_FILE, dir_fd=directory)
        except OSError:
            return None
        try:
            return digest_of_file(descriptor, seed, self._buffer)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _set_aside(self, directory: int, name: bytes, path: bytes) -> None:
        """Gives it the first free name of `<name>.before-<id>`, `….2` and so on."""
        short = _name_of(path)[: _MAX_NAME_BYTES - len(self._suffix) - len(b".9999")]
        numbers = (b"", *(b".%d" % number for number in range(2, 10_000)))
        for number in numbers:
            aside = short + self._suffix + number
            try:
                rename_free(name, aside, directory)
            except FileExistsError:
                continue
            where = path[: len(path) - len(_name_of(path))] + aside
            self._how.moved.append(where)
            text = f"is in no snapshot; it is now called {os.fsdecode(aside)}"
            self._how.warn("files.moved_aside", path, text)
            return
        raise OSError(errno.ENAMETOOLONG, "too many names are taken", os.fsdecode(path))


def temporary_name() -> bytes:
    """A name that nobody else uses."""
    return TEMP_PREFIX.encode() + os.urandom(8).hex().encode()


def _name_of(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _look(name: bytes, directory: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_same(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether nobody wrote to it: what a rename leaves alone is the same."""
    same_file = (before.st_dev, before.st_ino) == (after.st_dev, after.st_ino)
    stamps = before.st_size, before.st_mtime_ns, stat.S_IFMT(before.st_mode)
    return same_file and stamps == (after.st_size, after.st_mtime_ns, stat.S_IFMT(after.st_mode))


def _unlink(name: bytes, directory: int) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except OSError:
        return
