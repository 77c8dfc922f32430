"""The archives that an index reads from: single frames, and parts of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from scratchflow.archive.files.limits import refuse_own_limit
from scratchflow.archive.format.container import FrameBlocks, GetRoom, decompress_frame, part_of
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.archive_file import open_regular, read_into, true_frames, unusable_as
from scratchflow.archive.tree.index import ArchiveFrames, Index
from scratchflow.model.errors.snapshots import SnapshotDamaged

OpenArchive = Callable[[str], Path]  # where the archive with this id lies
Span = tuple[int, int, int, int]  # archive number, frame, where in the frame, length

_Content = TypeVar("_Content")

# A frame of which less than one part in so many is wanted is not read whole.
_SMALL_PART = 8


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
        if not self._is_small_part(number, frame, wanted_bytes):
            return self._whole_frame(number, frame, room)
        start, count = self._bounds(number, frame)
        descriptor = self._descriptor(number)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, start, count, os.POSIX_FADV_WILLNEED)
        return FrameBlocks(
            lambda offset, wanted: os.pread(descriptor, wanted, start + offset), count, raw_bytes
        )

    def _is_small_part(self, number: int, frame: int, wanted_bytes: int) -> bool:
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
        return unusable_as(error)(snapshot=self.index.id, reason=reason, archive=archive)

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

    def pieces_in(self, span: Span) -> Iterator[memoryview]:
        """What a span holds, a piece at a time, not checked against the frame's checksum: the file that it belongs to has a digest."""
        number, frame, start, length = span
        blocks = self._guarded(number, frame, lambda: self._blocks(number, frame, length))
        pieces = blocks.pieces(start, length)
        while piece := self._guarded(number, frame, lambda: next(pieces, None)):
            yield piece
