"""Opens archives: their index, single frames, and single files."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from scratchflow.archive.files.digest import StreamDigest
from scratchflow.archive.files.limits import refuse_own_limit
from scratchflow.archive.format.container import (
    FOOTER_BYTES,
    Footer,
    FrameBlocks,
    GetRoom,
    decompress_frame,
    part_of,
    unpack_footer,
)
from scratchflow.archive.format.index_check import UnsafeName
from scratchflow.archive.format.index_codec import load_index, read_header
from scratchflow.archive.malformed import Malformed, NewerFormat
from scratchflow.archive.tree.index import ArchiveFrames, Index
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR
from scratchflow.model.errors.snapshots import SnapshotDamaged, SnapshotNewer, UnsafeMember
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.model.text import printable

OpenArchive = Callable[[str], Path]  # where the archive with this id lies
Span = tuple[int, int, int, int]  # archive number, frame, where in the frame, length

_Content = TypeVar("_Content")

_ZEROS = bytes(1 << 20)
# A frame of which less than one part in so many is wanted is not read whole.
_SMALL_PART = 8


def open_index(path: Path, like: Index | None = None) -> Index:
    """The index of the archive at `path`, checked so that nothing later can be led astray by it.

    It opens in half the time when `like`, another one, is at hand and has the same paths.
    """
    index = read_index(path, lambda region, sha256: load_index(region, sha256, like))
    require_own(path, index.id)
    return index


def require_own(path: Path, found: str) -> None:
    """SnapshotDamaged when the archive of a store is whole, and that of another snapshot: its name says which it should be."""
    name = path.name.removesuffix(".tar.lz4")
    if is_snapshot_id(name) and found != name:
        reason = f"it is the archive of another snapshot, {printable(found)}"
        raise SnapshotDamaged(snapshot=name, reason=reason, archive=name)


def read_index(path: Path, load: Callable[[bytes, bytes], _Content]) -> _Content:
    """What `load` makes of an archive's index and its SHA-256; SnapshotDamaged or UnsafeMember when it cannot."""
    name = path.name.removesuffix(".tar.lz4")
    try:
        descriptor = open_regular(path)
        try:
            footer = read_footer(descriptor)
            if footer.is_remnant:
                raise Malformed("only what other snapshots need is left of it")
            region = read_exactly(descriptor, footer.index_bytes, footer.index_offset)
        finally:
            os.close(descriptor)
        return load(region, footer.index_sha256)
    except UnsafeName as error:
        reason, member = error.args
        raise UnsafeMember(archive=path, member=os.fsdecode(member), reason=reason) from None
    except (Malformed, OSError) as error:
        refuse_own_limit(error)
        raise _unusable(error)(snapshot=name, reason=error, archive=name) from error


def _unusable(error: Exception) -> type[SnapshotDamaged]:
    """What to say of a snapshot when this is wrong with an archive."""
    return SnapshotNewer if isinstance(error, NewerFormat) else SnapshotDamaged


def archives_read(path: Path) -> set[str]:
    """The ids of all archives that hold a part of a snapshot, as the index in its own says."""
    return read_index(
        path, lambda region, sha256: {one for one, _ in read_header(region, sha256)[0].archives}
    )


def true_frames(descriptor: int, listed: ArchiveFrames) -> ArchiveFrames:
    """Where the frames of an open archive lie: as an index lists them, unless it was rewritten since."""
    try:
        footer = read_footer(descriptor)
    except NewerFormat:  # frames may lie elsewhere, and would be taken for damaged ones
        raise
    except Malformed:  # damage that may not concern any frame
        return listed
    if not footer.is_remnant:
        return listed
    from scratchflow.archive.format.remnant import load_frames  # there are few of them

    region = read_exactly(descriptor, footer.index_bytes, footer.index_offset)
    found = load_frames(region, footer.index_sha256)
    if (found.id, found.raw_ends) != (listed.id, listed.raw_ends):
        raise Malformed("it was rewritten, and has other frames than the index says")
    return found


def open_regular(path: Path) -> int:
    """The descriptor of an archive; Malformed for a directory, or a FIFO that nobody may ever write to."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise Malformed("it is not a file")


def read_footer(descriptor: int) -> Footer:
    """The footer of an open archive, or Malformed."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, FOOTER_BYTES, max(0, size - FOOTER_BYTES))
    return unpack_footer(tail, size)


def read_exactly(descriptor: int, count: int, offset: int) -> bytes:
    """So many bytes from there, or Malformed: a short read is a file cut short."""
    content = os.pread(descriptor, count, offset)
    if len(content) < count:
        parts = [content]
        while (got := sum(map(len, parts))) < count:
            part = os.pread(descriptor, count - got, offset + got)
            if not part:
                raise Malformed("it is cut short")
            parts.append(part)
        content = b"".join(parts)
    return content


def read_into(descriptor: int, view: memoryview, offset: int) -> None:
    """Fills the view from there, or Malformed: a short read is a file cut short."""
    while view:
        got = os.preadv(descriptor, [view], offset)
        if not got:
            raise Malformed("it is cut short")
        view, offset = view[got:], offset + got


class _Buffer(threading.local):
    """Room for one frame a thread, used again: fresh memory costs as much as reading."""

    def __init__(self) -> None:
        self._room = bytearray()

    def view(self, count: int) -> memoryview:
        if len(self._room) < count:
            self._room = bytearray(count)
        return memoryview(self._room)[:count]


class Archives:
    """The archives that an index reads from, opened as they are needed. Threads may share it."""

    def __init__(self, index: Index, open_archive: OpenArchive) -> None:
        self.index = index
        self._open_archive = open_archive
        self._descriptors: dict[int, int] = {}
        self._frames: dict[int, ArchiveFrames] = {}  # of those that are open
        self._lock = threading.Lock()
        self._buffer = _Buffer()
        self._content_buffer = _Buffer()

    def __enter__(self) -> Archives:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()

    def again(self) -> Archives:
        """The same ones, opened anew: for another process."""
        return Archives(self.index, self._open_archive)

    def _descriptor(self, number: int) -> int:
        with self._lock:
            if number not in self._descriptors:
                listed = self.index.archives[number]
                descriptor = open_regular(self._open_archive(listed.id))
                try:
                    own = listed.id == self.index.id
                    self._frames[number] = listed if own else true_frames(descriptor, listed)
                except BaseException:
                    os.close(descriptor)
                    raise
                self._descriptors[number] = descriptor
            return self._descriptors[number]

    def frame(self, number: int, frame: int) -> bytes:
        """The content of one frame, checked against its checksum."""
        return self._guarded(
            number,
            frame,
            lambda: decompress_frame(self._packed(number, frame), self.raw_bytes(number, frame)),
        )

    def files_in(self, number: int, frame: int, wanted_bytes: int) -> Callable[[int], memoryview]:
        """A function that gives the stored content of files in one frame, so many bytes in all.

        It holds until this thread asks for another frame.
        """
        blocks = self._guarded(number, frame, lambda: self._blocks(number, frame, wanted_bytes))
        index, start = self.index, self.index.archives[number].raw_start(frame)

        def content(entry: int) -> memoryview:
            place = index.position[entry] - start, index.stored_size(entry)
            return self._guarded(number, frame, lambda: blocks.part(*place))

        return content

    def fetched(
        self, number: int, frame: int, parts: Sequence[tuple[int, int]], room: GetRoom
    ) -> FrameBlocks:
        """A frame with the blocks of these parts (start, length) decompressed. It may lie in the room.

        It is not checked against its checksum: other parts of it may be damaged.
        """

        def fetch() -> FrameBlocks:
            wanted_bytes = sum(length for _, length in parts)
            blocks = self._blocks(number, frame, wanted_bytes, room)
            for start, length in parts:
                blocks.fetch(start, length)
            return blocks

        return self._guarded(number, frame, fetch)

    def _blocks(
        self, number: int, frame: int, wanted_bytes: int, room: GetRoom | None = None
    ) -> FrameBlocks:
        """For a small part only its blocks are read, after a word that the rest may follow.

        On a network mount many small requests would cost more than a large one.
        """
        raw_bytes = self.raw_bytes(number, frame)
        if not self.is_small_part(number, frame, wanted_bytes):
            return self._whole_frame(number, frame, room)
        start, count = self._bounds(number, frame)
        descriptor = self._descriptor(number)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, start, count, os.POSIX_FADV_WILLNEED)
        return FrameBlocks(
            lambda offset, wanted: os.pread(descriptor, wanted, start + offset), count, raw_bytes
        )

    def is_small_part(self, number: int, frame: int, wanted_bytes: int) -> bool:
        """Whether so few bytes of a frame are wanted that the rest of it is not read."""
        return wanted_bytes <= self.raw_bytes(number, frame) // _SMALL_PART

    def _whole_frame(self, number: int, frame: int, room: GetRoom | None) -> FrameBlocks:
        packed, raw_bytes = self._packed(number, frame, room), self.raw_bytes(number, frame)
        get_room = room or self._content_buffer.view
        return FrameBlocks(part_of(packed), len(packed), raw_bytes, get_room)

    def _bounds(self, number: int, frame: int) -> tuple[int, int]:
        self._descriptor(number)
        archive = self._frames[number]
        start = archive.packed_start(frame)
        count = archive.packed_ends[frame] - start
        if not count:
            raise Malformed("it was given up, because no snapshot needed it")
        return start, count

    def raw_bytes(self, number: int, frame: int) -> int:
        """How many bytes of the tar stream a frame holds."""
        archive = self.index.archives[number]
        return archive.raw_ends[frame] - archive.raw_start(frame)

    def _packed(self, number: int, frame: int, room: GetRoom | None = None) -> memoryview:
        """A frame as it is stored, in a room for so many bytes, or until this thread asks for the next one."""
        start, count = self._bounds(number, frame)
        packed = (room or self._buffer.view)(count)
        read_into(self._descriptor(number), packed, start)
        return packed

    def _guarded(self, number: int, frame: int, read: Callable[[], _Content]) -> _Content:
        try:
            return read()
        except FileNotFoundError:
            missing = self.index.archives[number].id
            reason = f"the archive `{missing}`, which holds a part of it, is missing"
            raise SnapshotDamaged(snapshot=self.index.id, reason=reason) from None
        except (Malformed, OSError) as error:
            refuse_own_limit(error)
            raise self.damaged(number, frame, error) from error

    def damaged(self, number: int, frame: int, error: Exception) -> SnapshotDamaged:
        """The error for a frame that cannot be used."""
        archive = self.index.archives[number].id
        reason = f"{archive}.tar.lz4, frame {frame}: {error}"
        return _unusable(error)(snapshot=self.index.id, reason=reason, archive=archive)

    def frames_of(self, entry: int) -> range:
        """The frames that hold the bytes of a file that lies in one piece."""
        stored = self.index.stored_size(entry)
        if not stored:
            return range(0)
        archive = self.index.archives[self.index.archive[entry]]
        position = self.index.position[entry]
        return range(archive.frame_at(position), archive.frame_at(position + stored - 1) + 1)

    def spans_of(self, entry: int) -> Iterator[Span]:
        """The stored bytes of a file in their order, each span inside one frame."""
        for number, position, length in self.index.parts(entry):
            yield from self.spans(number, position, length)

    def spans(self, number: int, position: int, length: int) -> Iterator[Span]:
        """A stretch of an archive's tar stream, frame by frame."""
        archive = self.index.archives[number]
        end = position + length
        while position < end:
            frame = archive.frame_at(position)
            count = min(end, archive.raw_ends[frame]) - position
            yield number, frame, position - archive.raw_start(frame), count
            position += count

    def content(self, span: Span) -> memoryview:
        """What a span holds. Most of a frame is checked against the frame's checksum.

        Of a small part only its blocks are read: the file that it belongs to has a digest.
        """
        number, frame, start, length = span
        if self.is_small_part(number, frame, length):
            blocks = self._guarded(number, frame, lambda: self._blocks(number, frame, length))
            return self._guarded(number, frame, lambda: blocks.part(start, length))
        return memoryview(self.frame(number, frame))[start : start + length]

    def pieces_in(self, span: Span) -> Iterator[memoryview]:
        """The same a piece at a time, not checked against the frame's checksum."""
        number, frame, start, length = span
        blocks = self._guarded(number, frame, lambda: self._blocks(number, frame, length))
        pieces = blocks.pieces(start, length)
        while piece := self._guarded(number, frame, lambda: next(pieces, None)):
            yield piece


def read_file(index: Index, entry: int, open_archive: OpenArchive) -> Iterator[memoryview]:
    """The content of one file in pieces, holes as zeros.

    The digest is checked after the last piece: whoever keeps the pieces must wait for the end.
    """
    if index.mode[entry] & KIND_MASK != REGULAR:
        raise ValueError("not a regular file")
    digest = StreamDigest(seed=index.seed)
    with Archives(index, open_archive) as archives:
        stored = map(archives.content, archives.spans_of(entry))
        for piece in with_holes(stored, index.sparse.get(entry), index.size[entry]):
            digest.update(piece)
            yield piece
    if digest.digest() != index.digest_of(entry):
        raise damaged_content(index, entry)


def damaged_content(index: Index, entry: int) -> SnapshotDamaged:
    """The error for a file whose content is not what was stored."""
    path = os.fsdecode(index.path(entry))
    held_by = {archive for archive, _, _ in index.place(entry)}
    return SnapshotDamaged(
        snapshot=index.id,
        reason=f"the content of `{path}` does not match its digest",
        archive=held_by.pop() if len(held_by) == 1 else "",
    )


def with_holes(
    stored: Iterator[memoryview], extents: list[int] | None, size: int
) -> Iterator[memoryview]:
    """The pieces of a file as a reader of the file sees them: holes are zeros."""
    if extents is None:
        yield from stored
        return
    at = 0
    for offset, piece in placed(stored, extents):
        yield from zero_pieces(offset - at)
        yield piece
        at = offset + len(piece)
    yield from zero_pieces(size - at)


def placed(stored: Iterator[memoryview], extents: list[int]) -> Iterator[tuple[int, memoryview]]:
    """The stored pieces of a sparse file with the offset where each belongs."""
    targets = [pair for pair in zip(extents[::2], extents[1::2], strict=True) if pair[1]][::-1]
    for whole in stored:
        piece = whole
        while piece and targets:
            offset, length = targets.pop()
            yield offset, piece[:length]
            if length > len(piece):
                targets.append((offset + len(piece), length - len(piece)))
            piece = piece[length:]


def zero_pieces(count: int) -> Iterator[memoryview]:
    """So many zeros, in pieces."""
    view = memoryview(_ZEROS)
    while count > 0:
        yield view[:count]
        count -= len(view)
