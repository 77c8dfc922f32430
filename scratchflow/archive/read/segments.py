"""Proves in several processes that the tar stream of an archive is what its index says.

The stream is cut where a frame begins with a file that the index knows the place of. What is between two such places
can be walked by itself. If anything is not as it should be, nothing is said about it here: whoever walks the
whole stream can tell what is wrong.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from scratchflow.archive.format.container import BLOCK_BYTES, FrameBlocks, part_of
from scratchflow.archive.format.stream import PieceReader
from scratchflow.archive.format.tar_headers import BLOCK, END_OF_ARCHIVE
from scratchflow.archive.format.tar_reader import read_members
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.archive_file import read_into
from scratchflow.archive.read.chunk_check import ChunkCheck, own_chunks
from scratchflow.archive.read.hashed import HashedFile
from scratchflow.archive.read.member_check import MemberChecker
from scratchflow.archive.read.plain_members import PlainMembers, plain_entries
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR
from scratchflow.archive.workers.helpers import Helpers
from scratchflow.archive.workers.queue import MAX_SHARES, GrowingShares
from scratchflow.model.errors.base import ScratchflowError

_MAX_HELPERS = 7
# So much of the file is checked by one process at a time; of less, nothing is gained.
_SEGMENT_BYTES = 8 << 20
_READ_BYTES = 1 << 20

Right = tuple[int, bytes]  # how many members there are, and the entries that have one


class Segment(NamedTuple):
    """Frames from `first` up to `end`, which begin with this file, or with the tar stream."""

    first: int
    end: int
    file: int | None


class Segments:
    """The stretches of an archive's tar stream that can be walked each by itself."""

    def __init__(self, index: Index, number: int, descriptor: int) -> None:
        """`number` is that of the archive in its own index; `descriptor` is its open file."""
        self.index = index
        self.number = number
        self.descriptor = descriptor
        self.frames = index.archives[number]
        self.all: list[Segment] = []
        # For fewer bytes it is not worth looking.
        if self.frames.packed_ends[-1] >= 2 * _SEGMENT_BYTES:
            self._plain = plain_entries(index, number)
            self._chunks = ChunkCheck(index.seed, own_chunks(index, number))
            self.all = list(self._cut())

    def _cut(self) -> Iterator[Segment]:
        index, frames = self.index, self.frames
        least = max(_SEGMENT_BYTES, frames.packed_ends[-1] // (MAX_SHARES // 2))
        frame_at = {frames.raw_start(frame) + BLOCK: frame for frame in range(len(frames.raw_ends))}
        beginning = {
            frame_at[position]: entry
            for entry, position in enumerate(index.position)
            if position in frame_at
            and self._plain[entry]
            and index.mode[entry] & KIND_MASK == REGULAR
            and index.archive[entry] == self.number
        }
        first, file = 0, None
        for frame, entry in sorted(beginning.items()):
            if frame and frames.packed_start(frame) - frames.packed_start(first) >= least:
                yield Segment(first, frame, file)
                first, file = frame, entry
        yield Segment(first, len(frames.raw_ends), file)

    def right(self, number: int) -> Right | None:
        """What is in a segment of which all is as it should be; None of any other."""
        segment = self.all[number]
        start, end = self.frames.raw_start(segment.first), self.frames.raw_ends[segment.end - 1]
        is_last = segment.end == len(self.frames.raw_ends)
        checker = MemberChecker(self.index, self.number, self._chunks)
        try:
            ends = self._walk(segment, start, checker, ends_here=not is_last)
        except (Malformed, ScratchflowError, OSError):
            return None
        is_right = (
            ends == (end if is_last else end + len(END_OF_ARCHIVE))
            and not (checker.problems or checker.superseded)
            and self._chunks.are_seen(start, end)
        )
        seen = array("I", [found.start() for found in re.finditer(b"\1", checker.seen)])
        return (checker.members, seen.tobytes()) if is_right else None

    def _walk(
        self, segment: Segment, start: int, checker: MemberChecker, *, ends_here: bool
    ) -> int:
        """Where the end of the tar stream is; one that goes on behind the segment is given an end."""
        stream = PieceReader(self._content(segment, ends_here=ends_here))
        stream.position = start
        plain = PlainMembers(self.index, self._plain, segment.file)
        for member in read_members(
            stream, pass_over=lambda stream: checker.take_right(plain.take(stream))
        ):
            checker.check(member, stream)
        rest = stream.read(len(END_OF_ARCHIVE) // 2)  # the first block ended the loop
        if any(rest) or not stream.at_end():
            raise Malformed("something follows the end of the tar stream")
        return stream.position

    def _content(self, segment: Segment, *, ends_here: bool) -> Iterator[bytes | memoryview]:
        """In pieces, each of which holds until the next one is asked for."""
        room, block = bytearray(), memoryview(bytearray(BLOCK_BYTES))
        frames = self.frames
        for frame in range(segment.first, segment.end):
            at, end = frames.packed_start(frame), frames.packed_ends[frame]
            if len(room) < end - at:
                room = bytearray(end - at)
            packed = memoryview(room)[: end - at]
            read_into(self.descriptor, packed, at)
            raw_bytes = frames.raw_ends[frame] - frames.raw_start(frame)
            yield from FrameBlocks(part_of(packed), len(packed), raw_bytes).one_by_one(block)
        if ends_here:
            yield END_OF_ARCHIVE


def are_right(segments: Segments, source: HashedFile, processes: int) -> bool:
    """Whether all of the tar stream is as it should be; if so, `source` was read up to its end.

    This process reads the file in order, for its digest, and others follow: what they read is still in memory.
    Frames are not compared with their checksums, as that digest is of the same bytes.
    """
    helpers = min(processes - 1, _MAX_HELPERS)
    if len(segments.all) < 2 or helpers < 1 or sys.platform != "linux":
        return False
    try:
        numbers = GrowingShares(len(segments.all))
    except OSError:  # too many open files, or none of the process's own may be looked at
        return False
    others = Helpers(numbers, segments.right, helpers, (segments.descriptor,))
    found: dict[int, Right | None] = {}

    try:
        at, room = 0, memoryview(bytearray(_READ_BYTES))
        for segment in segments.all:
            end = segments.frames.packed_ends[segment.end - 1]
            while at < end:
                piece = room[: min(end - at, _READ_BYTES)]
                source.fill(piece)
                at += len(piece)
            numbers.give()
            while numbers.waiting > helpers and (number := numbers.take_now()) is not None:
                found[number] = segments.right(number)
        numbers.end()
        while (number := numbers.take()) is not None:
            found[number] = segments.right(number)
        found.update(others.results())
    except Malformed:
        return False
    finally:
        others.close()
    return _fit_together(segments, found)


def _fit_together(segments: Segments, found: dict[int, Right | None]) -> bool:
    """Whether each segment was found right, no member is there twice, and none is missing."""
    index = segments.index
    whole = MemberChecker(index, segments.number, ChunkCheck(index.seed))
    for number in range(len(segments.all)):
        right = found.get(number)
        if right is None:
            return False
        members, seen = right
        whole.take_right(iter(array("I", seen)))
        whole.members += members - len(seen) // array("I").itemsize
    return not whole.result()
