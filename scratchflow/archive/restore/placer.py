"""Puts files, links and directories of an index into a directory, and never anywhere else.

Everything is made relative to directory descriptors that were opened component by component
without following symlinks. A file appears under its name only when its content is known to be
right.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import closing

import msgspec

from scratchflow.archive.files.digest import StreamDigest, digest_of_bytes
from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.files.xattrs import replace_xattrs
from scratchflow.archive.read.file_content import damaged_content, placed, zero_pieces
from scratchflow.archive.restore.displace import Displacer, Displacing, temporary_name
from scratchflow.archive.scan.scan import Warn
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY_PERMISSIONS, FILE_PERMISSIONS
from scratchflow.disk.umask import current_umask
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.restore import TargetNotEmpty
from scratchflow.model.errors.store import TargetFull

_EXCLUSIVE = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | _EXCLUSIVE
# To a file of somebody else that we may not write to (`fs.protected_hardlinks`), to one that has too many
# names, and on file systems that know no hard links, or none across directories.
_LINK_REFUSALS = {errno.EPERM, errno.EACCES, errno.EMLINK, errno.EXDEV, errno.ENOTSUP, errno.ENOSYS}


Write = Callable[[int], Generator[memoryview, None, None]]  # into a file, by its descriptor


class _NotPatched(Exception):
    """An older file and chunks did not make the wanted one."""


class Placing(msgspec.Struct, frozen=True):
    """Where and how placers place: each thread and each process has one of its own."""

    index: Index
    target: int  # a directory's descriptor
    warn: Warn
    displacing: Displacing | None = None
    masked: bool = False  # nothing gets a mode wider than the umask allows
    # Read where there is one thread yet: it belongs to all of them.
    umask: int = msgspec.field(default_factory=current_umask)
    # Another copy of the tree on this machine, from which large files may be taken; empty for none.
    warm: bytes = b""

    def placer(self) -> Placer:
        """A new placer."""
        return Placer(self)


class Placer:
    """Creates the entries of one index beneath one target. One for each thread.

    With `displacing` a file that is already there is replaced, old or new at any moment, and is
    in a snapshot or moved aside afterwards; without, it is an error.
    """

    def __init__(self, placing: Placing) -> None:
        self.index = placing.index
        self._displacing = placing.displacing
        self._displacer = Displacer(placing.displacing) if placing.displacing else None
        self._warn = placing.warn
        self.handles = DirectoryHandles(placing.index, placing.target)
        self._group = (-1, 0, 0)  # first entry and end of the last directory, and its group
        self._umask = placing.umask
        self._mask = self._umask if placing.masked else 0

    def close(self) -> None:
        """Closes the directories that are still open."""
        self.handles.close()

    def directory_of(self, entry: int) -> int:
        """The descriptor of the directory that holds an entry; valid until another directory is asked for."""
        first, end, group = self._group
        if not first <= entry < end:
            group = self.index.group_of(entry)
            self._group = (self.index.first[group], self.index.first[group + 1], group)
        return self.handles.get(group)

    def small_file(self, entry: int, content: memoryview) -> None:
        """A file whose whole stored content is at hand: it is checked before anything is created."""
        index = self.index
        if entry in index.sparse:
            self.large_file(entry, iter([content]))
            return
        if digest_of_bytes(content, index.seed) != index.digest_of(entry):
            raise damaged_content(index, entry)
        directory, name = self.directory_of(entry), index.names[entry]
        created = temporary_name() if self._displacer else name
        descriptor = os.open(created, _CREATE, self._permissions(entry), dir_fd=directory)
        try:
            written = os.write(descriptor, content) if content else 0
            if written < len(content):
                _write_all(descriptor, content[written:])
            self._finish(entry, descriptor)
        except BaseException:
            _unlink(created, directory)
            raise
        finally:
            os.close(descriptor)
        self._put(entry, created)

    def large_file(self, entry: int, stored: Iterator[memoryview]) -> None:
        """A file whose content comes in pieces: it gets its name when the last one was right."""
        self._require_free(entry)
        self._place_large(entry, lambda descriptor: self._fill(entry, descriptor, stored))

    def scattered_file(self, entry: int, write: Write) -> None:
        """A file without holes that `write` writes, in any order, and gives all of its content."""

        def fill(descriptor: int) -> None:
            with closing(write(descriptor)) as content:  # it may have threads that write
                if not self._is_right(entry, content):
                    raise damaged_content(self.index, entry)

        self._require_free(entry)
        self._place_large(entry, fill)

    def _require_free(self, entry: int) -> None:
        name = self.index.names[entry]
        if not self._displacer and _exists(name, self.directory_of(entry)):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    def _is_right(self, entry: int, content: Iterator[memoryview]) -> bool:
        digest = StreamDigest(seed=self.index.seed)
        for piece in content:
            digest.update(piece)
        return digest.digest() == self.index.digest_of(entry)

    def patched_file(self, entry: int, patch: Callable[[int], Iterator[memoryview]]) -> bool:
        """A file that is made from an older version: `patch` writes it, and gives all of its content.

        False when that did not make the right file, for whatever reason; then nothing has changed.
        """

        def fill(descriptor: int) -> None:
            try:
                is_right = self._is_right(entry, patch(descriptor))
            except (ScratchflowError, OSError) as error:
                raise _NotPatched from error
            if not is_right:
                raise _NotPatched

        try:
            self._place_large(entry, fill)
        except _NotPatched:
            return False
        return True

    def _place_large(self, entry: int, fill: Callable[[int], None]) -> None:
        directory, name = self.directory_of(entry), self.index.names[entry]
        temporary = temporary_name()
        descriptor = os.open(temporary, os.O_RDWR | _EXCLUSIVE, 0o600, dir_fd=directory)
        try:
            fill(descriptor)
            os.fchmod(descriptor, self._permissions(entry))
            self._finish(entry, descriptor)
        except BaseException:
            _unlink(temporary, directory)
            raise
        finally:
            os.close(descriptor)
        if self._displacer:
            self._put(entry, temporary)
        else:
            os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)

    def _put(self, entry: int, created: bytes) -> None:
        """Gives a finished file or link its name, unless it has it already.

        After an error the temporary name stays: what has it may be what lay here before.
        """
        if self._displacer:
            path = self.index.path(entry)
            self._displacer.put(self.directory_of(entry), created, path, (self.index, entry))

    def _fill(self, entry: int, descriptor: int, stored: Iterator[memoryview]) -> None:
        """Writes the content, holes as holes; SnapshotDamaged if it was not the right one."""
        index = self.index
        digest = StreamDigest(seed=index.seed)
        extents = index.sparse.get(entry)
        if extents is None:
            for piece in stored:
                digest.update(piece)
                _write_all(descriptor, piece)
        else:
            self._fill_sparse(descriptor, placed(stored, extents), index.size[entry], digest)
        if digest.digest() != index.digest_of(entry):
            raise damaged_content(index, entry)

    def _fill_sparse(
        self,
        descriptor: int,
        pieces: Iterator[tuple[int, memoryview]],
        size: int,
        digest: StreamDigest,
    ) -> None:
        os.ftruncate(descriptor, size)
        end = 0
        for offset, piece in pieces:
            for zeros in zero_pieces(offset - end):
                digest.update(zeros)
            digest.update(piece)
            _pwrite_all(descriptor, piece, offset)
            end = offset + len(piece)
        for zeros in zero_pieces(size - end):
            digest.update(zeros)

    def _permissions(self, entry: int) -> int:
        return self.index.mode[entry] & FILE_PERMISSIONS & ~self._mask

    def _finish(self, entry: int, descriptor: int) -> None:
        index = self.index
        permissions = self._permissions(entry)
        xattrs = index.xattrs.get(entry)
        if xattrs:
            self._set_xattrs(entry, descriptor, xattrs)
        if xattrs or permissions & self._umask:
            os.fchmod(descriptor, permissions)
        mtime_ns = index.mtime_ns[entry]
        os.utime(descriptor, ns=(mtime_ns, mtime_ns))

    def _set_xattrs(self, entry: int, descriptor: int, xattrs: dict[bytes, bytes]) -> None:
        # Attributes can be set only on a file that may be written to.
        os.fchmod(descriptor, self._permissions(entry) | 0o200)
        if not replace_xattrs(descriptor, xattrs):
            text = "its extended attributes were not kept"
            self._warn("files.xattrs", self.index.path(entry), text)

    def file_metadata(self, entry: int) -> None:
        """Mode and mtime of a file whose content is right already."""
        self._before_change()
        try:
            self._set_file_metadata(entry)
        except PermissionError as error:
            self._warn_of_metadata(entry, error)

    def _warn_of_metadata(self, entry: int, error: OSError) -> None:
        text = f"its mode and time were not set: {error.strerror}"
        self._warn("files.metadata", self.index.path(entry), text)

    def _set_file_metadata(self, entry: int) -> None:
        directory, name = self.directory_of(entry), self.index.names[entry]
        flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(name, os.O_RDONLY | flags, dir_fd=directory)
        except PermissionError:
            os.chmod(name, 0o600, dir_fd=directory)
            descriptor = os.open(name, os.O_RDONLY | flags, dir_fd=directory)
        try:
            self._set_xattrs(entry, descriptor, self.index.xattrs.get(entry, {}))
            os.fchmod(descriptor, self._permissions(entry))
            mtime_ns = self.index.mtime_ns[entry]
            os.utime(descriptor, ns=(mtime_ns, mtime_ns))
        finally:
            os.close(descriptor)

    def directory(self, entry: int) -> bool:
        """A directory, open to us alone until `directory_metadata`; whether that is to follow.

        One that is there stays; opening it refuses whatever else it is. When we replace inside a
        tree that somebody works in, its mode and mtime are theirs.
        """
        self._before_change()
        name, directory = self.index.names[entry], self.directory_of(entry)
        try:
            os.mkdir(name, 0o700, dir_fd=directory)
        except FileExistsError:
            if not self._makes_room(entry, name, directory):
                self.handles.get(self.index.group_at(entry))
                return self._displacer is None
            os.mkdir(name, 0o700, dir_fd=directory)
        return True

    def _makes_room(self, entry: int, name: bytes, directory: int) -> bool:
        """Whether something else than a directory was in the way, and is not any more."""
        if not self._displacer or not self._displacing or not self._displacing.clears:
            return False
        if stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            return False
        self._displacer.remove(directory, self.index.path(entry))
        return True

    def _before_change(self) -> None:
        if self._displacing:
            self._displacing.before_change()

    def hardlink(self, entry: int, first: int) -> bool:
        """A second name for a file that is in place; False, with a warning, if the system refuses that."""
        name = self.index.names[entry]
        created = temporary_name() if self._displacer else name
        # One of our own: to open the way to the other directory may close this one.
        source = os.dup(self.handles.get(self.index.group_of(first)))
        try:
            os.link(
                self.index.names[first],
                created,
                src_dir_fd=source,
                dst_dir_fd=self.directory_of(entry),
                follow_symlinks=False,
            )
        except OSError as error:
            if error.errno not in _LINK_REFUSALS:
                raise
            self._warn_of_refused_link(entry, first, error)
            return False
        finally:
            os.close(source)
        self._put(entry, created)
        return True

    def _warn_of_refused_link(self, entry: int, first: int, error: OSError) -> None:
        other = os.fsdecode(self.index.path(first))
        text = f"has the same content as `{other}`, but no hard link to it: {error.strerror}"
        self._warn("files.not_linked", self.index.path(entry), text)

    def symlink(self, entry: int) -> None:
        """A symlink, verbatim. Made last, so that nothing is ever written through one."""
        index = self.index
        directory, name = self.directory_of(entry), index.names[entry]
        created = temporary_name() if self._displacer else name
        os.symlink(index.target(entry), created, dir_fd=directory)
        mtime_ns = index.mtime_ns[entry]
        os.utime(created, ns=(mtime_ns, mtime_ns), dir_fd=directory, follow_symlinks=False)
        self._put(entry, created)

    def directory_metadata(self, entry: int) -> None:
        """Mode, attributes and mtime of a directory, once nothing inside changes any more."""
        self._before_change()
        try:
            self._set_directory_metadata(entry)
        except PermissionError as error:
            if not self._displacing:
                raise
            self._warn_of_metadata(entry, error)

    def _set_directory_metadata(self, entry: int) -> None:
        descriptor = self.handles.get(self.index.group_at(entry))
        xattrs = self.index.xattrs.get(entry, {})
        if xattrs or self._displacer:
            replace_xattrs(descriptor, xattrs)
        mode = self.index.mode[entry] & DIRECTORY_PERMISSIONS & ~self._mask
        os.fchmod(descriptor, mode)
        mtime_ns = self.index.mtime_ns[entry]
        os.utime(descriptor, ns=(mtime_ns, mtime_ns))


def translated(error: OSError, target: object) -> ScratchflowError | OSError:
    """An error of the target as the user should see it."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return TargetFull(path=target, reason=error.strerror)
    if error.errno in {errno.EEXIST, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENOTEMPTY}:
        return TargetNotEmpty(target=target)
    return error


def _exists(name: bytes, directory: int) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _unlink(name: bytes, directory: int) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except OSError:
        return


def _write_all(descriptor: int, content: memoryview) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _pwrite_all(descriptor: int, content: memoryview, offset: int) -> None:
    while content:
        count = os.pwrite(descriptor, content, offset)
        content, offset = content[count:], offset + count
