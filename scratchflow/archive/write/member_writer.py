"""Reads files of the workspace into the tar stream, whatever happens to them meanwhile."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from scratchflow.archive.files.digest import StreamDigest, digest_of_bytes, update_with_zeros
from scratchflow.archive.files.holes import MAX_HOLE_BYTES, MIN_SPARSE_BYTES, data_extents
from scratchflow.archive.files.limits import refuse_own_limit
from scratchflow.archive.files.xattrs import read_xattrs
from scratchflow.archive.format.tar_headers import (
    BLOCK,
    CHUNKS_DIRECTORY,
    FILE,
    HARDLINK,
    SYMLINK,
    member_header,
    padding,
    plain_file_header,
    sparse_map,
    xattr_records,
)
from scratchflow.archive.format.tar_headers import DIRECTORY as DIRECTORY_MEMBER
from scratchflow.archive.scan.reread import OPEN_FILE
from scratchflow.archive.scan.scan import ScannedTree, Warn, clamped_ns
from scratchflow.archive.tree import chunks
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR
from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.archive.write.locations import MemberNotes
from scratchflow.archive.write.source_file import (
    SourceError,
    file_header,
    stats_of_file,
    still_the_same,
)

if TYPE_CHECKING:
    from scratchflow.archive.files.chunker import ContentCutter, Window
    from scratchflow.archive.write.large_files import LargeFiles, NewFile

_SECOND_NS = 1_000_000_000
_ZEROS = bytes(1 << 16)


Member = tuple[int, int, bytes, bytes]  # entry, group of the directory it is in, path, name


class Sink(Protocol):
    """Where the tar stream goes: into the buffer `view`, of which `fill` bytes are taken."""

    view: memoryview
    fill: int

    @property
    def position(self) -> int:
        """Where in the tar stream the next byte goes."""

    def put(self, content: bytes | memoryview) -> None:
        """Appends bytes."""

    def make_room(self, count: int) -> None:
        """Sees to it that this many bytes lie in one frame, if a frame holds so many."""

    def make_smallest(self) -> None:
        """The current frame may take longer to compress, for fewer bytes."""

    def flush(self) -> None:
        """Ends the frame."""


class MemberWriter:
    """Appends members to a sink, and notes where their content went.

    A member is always complete: its header says how long it is, and a file that turns out
    shorter is filled up with zeros. `unsettled` are entries that the next backup must read again;
    `dropped` are those that could not be stored at all; `differing` those that were found other
    than scanned, which the scan says now; `relinked` those that link to another name now.
    """

    def __init__(
        self,
        scanned: ScannedTree,
        seed: int,
        sink: Sink,
        warn: Warn,
        dropped: Iterable[int] = (),
        large: LargeFiles | None = None,
    ) -> None:
        self._scanned = scanned
        self._large = large
        self._chunk_members = 0
        self._seed = seed
        self._sink = sink
        self._warn = warn
        self._handles = scanned.handles()
        self._directory = (-1, -1)  # the group of the last file, and its descriptor
        self._notes = MemberNotes()
        self.unsettled: set[int] = set()
        self.dropped = set(dropped)
        self.differing: set[int] = set()
        self.relinked: set[int] = set()

    def close(self) -> None:
        """Closes the directories that are still open."""
        self._handles.close()

    def add(self, members: Sequence[Member]) -> MemberNotes:
        """Appends members in this order, and says where they went."""
        notes = self._notes = MemberNotes()
        mode = self._scanned.mode
        for entry, group, path, name in members:
            kind = mode[entry] & KIND_MASK
            if kind == REGULAR:
                self._add_file(entry, group, path, name)
            elif kind == DIRECTORY:
                xattrs = self._directory_xattrs(entry)
                self._put_header(entry, path + b"/", DIRECTORY_MEMBER, xattrs=xattrs)
            else:
                self._put_header(entry, path, SYMLINK, link=self._scanned.target(entry))
        return notes

    def _add_file(self, entry: int, group: int, path: bytes, name: bytes) -> None:
        """A regular file; a further link to one that is stored already is only a header."""
        self._notes.files += 1
        first = self._scanned.hardlinks.get(entry)
        if first is not None and self._add_hardlink(entry, first, path):
            return
        try:
            if self._directory[0] != group:
                self._directory = (group, self._handles.get(group))
            descriptor = os.open(name, OPEN_FILE, dir_fd=self._directory[1])
        except OSError as error:
            self._drop(entry, path, error)
            return
        try:
            if self._scanned.size[entry] < MIN_SPARSE_BYTES:
                stored = self._add_small(entry, path, descriptor)
            else:
                stored = self._add_streamed(entry, path, descriptor)
        except SourceError as error:
            self._drop(entry, path, error.cause)
            return
        finally:
            os.close(descriptor)
        self._notes.bytes += stored

    def _add_hardlink(self, entry: int, first: int, path: bytes) -> bool:
        if first in self.dropped:
            # The name we meant to link to is gone; this one becomes the file the others link to.
            self._relink(first, entry)
            return False
        self._put_header(entry, path, HARDLINK, link=self._scanned.path(first))
        return True

    def _relink(self, first: int, heir: int | None = None) -> None:
        """The other names of a file become links to one of them, the next one by default."""
        links = self._scanned.hardlinks
        others = sorted(entry for entry, value in links.items() if value == first)
        if not others:
            return
        heir = others[0] if heir is None else heir
        links.update(dict.fromkeys(others, heir))
        del links[heir]
        self.relinked.update(others)

    def _add_small(self, entry: int, path: bytes, descriptor: int) -> int:
        """The hot path: a small file that has not changed since it was scanned, in five calls."""
        scanned, sink = self._scanned, self._sink
        size = scanned.size[entry]
        whole = BLOCK + size + -size % BLOCK
        sink.make_room(whole)
        fill, view = sink.fill, sink.view
        start = fill + BLOCK
        content = view[start : start + size]
        try:
            got = os.readv(descriptor, [content]) if size else 0
            stats = os.fstat(descriptor)
        except OSError as error:
            raise SourceError(error) from None
        mtime_ns = stats.st_mtime_ns
        if (
            got != size
            or stats.st_size != size
            or stats.st_ctime_ns != scanned.ctime_ns[entry]
            or stats.st_ino != scanned.inode[entry]
            or mtime_ns != scanned.mtime_ns[entry]
            or stats.st_mode != scanned.mode[entry]
            or read_xattrs(descriptor)
        ):
            return self._add_streamed(entry, path, descriptor)
        owner = stats.st_uid, stats.st_gid
        header = plain_file_header(path, stats.st_mode, mtime_ns // _SECOND_NS, size, owner)
        if len(header) != BLOCK:  # a pax header pushes the content back
            return self._add_streamed(entry, path, descriptor)
        view[fill:start] = header
        view[start + size : fill + whole] = _ZEROS[: -size % BLOCK]
        self._notes.add(entry, sink.position + BLOCK, digest_of_bytes(content, self._seed))
        sink.fill = fill + whole
        return size

    def _add_streamed(self, entry: int, path: bytes, descriptor: int) -> int:
        """Any file: large, sparse, with attributes, or changed since it was scanned."""
        before = stats_of_file(descriptor)
        large = self._large if self._large and entry in self._large else None
        if not (large and self._add_chunks(entry, path, descriptor, before, large)):
            self._add_whole(entry, path, descriptor, before, large)
        return before.st_size

    def _add_whole(
        self,
        entry: int,
        path: bytes,
        descriptor: int,
        before: os.stat_result,
        large: LargeFiles | None,
    ) -> None:
        """A member with all of the content; of a large file, its chunks are noted."""
        extents = data_extents(descriptor, before)
        _refuse_endless_holes(before.st_size, extents)
        xattrs = read_xattrs(descriptor)
        self._refresh(entry, before)
        sparse_prefix = b"" if extents is None else sparse_map(before.st_size, extents)
        stored = before.st_size if extents is None else sum(extents[1::2])
        header = file_header(path, before, xattrs, sparse_prefix, stored)
        sink = self._sink
        whole = len(header) + len(sparse_prefix) + stored + padding(stored)
        sink.make_room(min(whole, FRAME_BYTES))
        sink.put(header)
        sink.put(sparse_prefix)
        position = sink.position
        cutter = large.cutter() if large and stored >= chunks.MIN_CHUNKED_BYTES else None
        digest, is_whole, problem = self._stream(descriptor, before.st_size, extents, cutter)
        sink.put(_ZEROS[: padding(stored)])
        self._notes.add(entry, position, digest)
        if extents is not None:
            self._notes.sparse[entry] = extents
        if large and cutter and is_whole:
            self._notes.chunks[entry] = large.in_one_piece(cutter, position), digest
        if xattrs:
            self._notes.xattrs[entry] = xattrs
        self._warn_if_moving(entry, path, before, descriptor, problem)

    def _add_chunks(
        self,
        entry: int,
        path: bytes,
        descriptor: int,
        before: os.stat_result,
        large: LargeFiles,
    ) -> bool:
        """A large file of which archives may hold a part: only its new chunks are stored.

        False when it has to be stored whole; then nothing refers to chunks of it that were stored.
        """
        new = large.new_file()
        file = large.windows_of(descriptor, before)
        if new is None or not file.is_worthwhile:
            return False
        xattrs = read_xattrs(descriptor)
        for window in file.windows():
            self._put_chunks(window, new)
        if file.digest is None:
            return False
        self._refresh(entry, before)
        large.note(new.chunks)
        self._notes.chunks[entry] = new.chunks, file.digest
        if file.extents is not None:
            self._notes.sparse[entry] = file.extents
        if xattrs:
            self._notes.xattrs[entry] = xattrs
        self._warn_if_moving(entry, path, before, descriptor, None)
        return True

    def _put_chunks(self, window: Window, new: NewFile) -> None:
        """A member with those chunks of a window that have to be stored."""
        sink = self._sink
        to_store = new.new_in(window)
        position = 0
        if to_store:
            stored = sum(length for _, length, _ in to_store)
            name = CHUNKS_DIRECTORY + b"%d" % self._chunk_members
            owner = os.getuid(), os.getgid()
            header = member_header(name, kind=FILE, mode=0o600, mtime_s=0, size=stored, owner=owner)
            sink.make_room(min(len(header) + stored + padding(stored), FRAME_BYTES))
            sink.put(header)
            position = sink.position
            sink.make_smallest()
            for start, length, _ in to_store:
                sink.put(window.content[start : start + length])
            sink.put(_ZEROS[: padding(stored)])
            self._chunk_members += 1
            self._notes.members += 1
        new.add(window, to_store, position)

    def _stream(
        self,
        descriptor: int,
        size: int,
        extents: list[int] | None,
        cutter: ContentCutter | None,
    ) -> tuple[bytes, bool, OSError | None]:
        """Copies the content into frames; returns its digest, whether all was there, and what went wrong, if anything."""
        digest = StreamDigest(seed=self._seed)
        problem: OSError | None = None
        is_whole = True
        end = 0
        pairs = extents or []
        if extents is None:
            pairs = [0, size]
        for offset, length in zip(pairs[::2], pairs[1::2], strict=True):
            update_with_zeros(digest, offset - end)
            end = offset + length
            got, error = self._copy(descriptor, offset, length, digest, cutter)
            problem, is_whole = error or problem, is_whole and got == length
        update_with_zeros(digest, size - end)
        return digest.digest(), is_whole, problem

    def _copy(
        self,
        descriptor: int,
        offset: int,
        length: int,
        digest: StreamDigest,
        cutter: ContentCutter | None,
    ) -> tuple[int, OSError | None]:
        """A stretch of the file; says how much of it could be read, and why no more. The rest is zeros."""
        sink = self._sink
        problem: OSError | None = None
        done = missing = 0
        while done < length:
            if sink.fill == FRAME_BYTES:
                sink.flush()
            room = sink.view[sink.fill : sink.fill + min(length - done, FRAME_BYTES - sink.fill)]
            got = 0
            if not missing:
                try:
                    got = os.preadv(descriptor, [room], offset + done)
                except OSError as error:
                    problem = error
            if got == 0:  # shorter than its header says, or unreadable from here
                got = len(room)
                missing += got
                room[:] = bytes(got)
            digest.update(room[:got])
            if cutter:
                cutter.update(room[:got])
            sink.fill += got
            done += got
        return length - missing, problem

    def _refresh(self, entry: int, stats: os.stat_result) -> None:
        """The entry says what the file was when it was read, not when it was scanned."""
        scanned = self._scanned
        if scanned.inode[entry] != stats.st_ino:
            self._relink(entry)  # another file lies here now: the other names have the one before
        found = (
            (scanned.size, stats.st_size),
            (scanned.mode, stats.st_mode),
            (scanned.mtime_ns, clamped_ns(stats.st_mtime_ns)),
            (scanned.ctime_ns, clamped_ns(stats.st_ctime_ns)),
            (scanned.inode, stats.st_ino),
        )
        for column, value in found:
            if column[entry] != value:
                column[entry] = value
                self.differing.add(entry)

    def _warn_if_moving(
        self,
        entry: int,
        path: bytes,
        before: os.stat_result,
        descriptor: int,
        problem: OSError | None,
    ) -> None:
        after = os.fstat(descriptor)
        if problem:
            self.unsettled.add(entry)
            self._warn("files.unreadable", path, f"could be read only in part: {problem.strerror}")
        elif not still_the_same(before, after):
            self.unsettled.add(entry)
            self._warn("files.changed", path, "changed while it was read")

    def _put_header(
        self,
        entry: int,
        path: bytes,
        kind: bytes,
        *,
        link: bytes = b"",
        xattrs: dict[bytes, bytes] | None = None,
    ) -> None:
        scanned = self._scanned
        header = member_header(
            path,
            kind=kind,
            mode=scanned.mode[entry],
            mtime_s=scanned.mtime_ns[entry] // _SECOND_NS,
            link=link,
            owner=(os.getuid(), os.getgid()),
            records=xattr_records(xattrs or {}),
        )
        if xattrs:
            self._notes.xattrs[entry] = xattrs
        self._sink.make_room(len(header))
        self._sink.put(header)
        self._notes.members += 1

    def _directory_xattrs(self, entry: int) -> dict[bytes, bytes]:
        if self._scanned.is_mount_point(entry):
            return {}
        try:  # what is in it comes next, and finds it open
            return read_xattrs(self._handles.get(self._scanned.group_at(entry)))
        except OSError:
            return {}

    def _drop(self, entry: int, path: bytes, error: OSError) -> None:
        refuse_own_limit(error)
        self.dropped.add(entry)
        if isinstance(error, FileNotFoundError):
            self._warn("files.vanished", path, "vanished before it was read")
        else:
            self._warn("files.unreadable", path, f"cannot be read: {error.strerror}")


def _refuse_endless_holes(size: int, extents: list[int] | None) -> None:
    """No reader takes a file with more holes: it is not stored, and is told as not saved."""
    if extents is not None and size - sum(extents[1::2]) > MAX_HOLE_BYTES:
        reason = f"it has more than {MAX_HOLE_BYTES >> 40} TiB of holes"
        raise SourceError(OSError(errno.EINVAL, reason))
