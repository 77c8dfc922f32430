"""Reads the spans of one large file in their order, each frame once, whatever the order of the frames is.

The chunks of a file that changed in many places lie in turns in several frames. A frame is read when its first span
comes, and kept until its last one was taken. When that would need too much memory, the spans of some frames are written
to their places in the file before all others, and read back from there when their turn comes.
"""

from __future__ import annotations

import errno
import heapq
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING

from scratchflow.archive.format.container import FrameBlocks
from scratchflow.archive.read.archives import Archives, Span

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# Of frames that are read for a file on disk little is kept: reading back takes less time than fresh memory.
KEPT_TO_WRITE_BYTES = 16 << 20
# What small changes of a large file stored lies in small frames, a few for each snapshot: many of them fit.
KEPT_TO_READ_BYTES = 64 << 20
_READ_BYTES = 1 << 20

Place = tuple[int, int]  # archive number, frame
Part = tuple[int, int, int]  # where in a frame, length, where in the file
Wanted = dict[Place, list[Part]]  # in the order in which frames are needed first
Placed = tuple[int, Span]  # where in the file, and the span that belongs there
Frame = tuple[FrameBlocks, list[memoryview]]  # its blocks, and the rooms that they lie in


class SpanReader:
    """The content of the spans that make up one file. For one use."""

    def __init__(
        self,
        archives: Archives,
        spans: Sequence[Span],
        pool: ThreadPoolExecutor | None = None,
        ahead: int = 0,
    ) -> None:
        """With a `pool`, its threads decompress so many frames `ahead` of the one that is needed."""
        self._archives = archives
        self._frames = _Frames(archives, pool, ahead)
        self._spans = list(_placed(spans))

    def in_order(self) -> Iterator[memoryview]:
        """The content in pieces, each of which holds until the next one is asked for.

        Of frames that cannot be kept, the blocks of each span are decompressed for it alone.
        """
        far, near = self._far_and_near(KEPT_TO_READ_BYTES)
        with closing(self._frames.contents(near)) as contents:
            for one in self._spans:
                yield from self._archives.pieces_in(one[1]) if one in far else next(contents)

    def into(self, target: int) -> Generator[memoryview, None, None]:
        """Fills an empty file that is open for reading and writing; yields its content, for the digest.

        Threads may write to the file until this ends: whoever gives up has to close it first.
        """
        far, near = self._far_and_near(KEPT_TO_WRITE_BYTES)
        with closing(self._frames.contents(sorted(far, key=itemgetter(1)), target)) as contents:
            for _ in contents:
                pass
        with closing(self._frames.contents(near, target)) as contents:
            for one in self._spans:
                offset, span = one
                yield from read_range(target, offset, span[3]) if one in far else next(contents)

    def _far_and_near(self, limit_bytes: int) -> tuple[set[Placed], list[Placed]]:
        """The spans of frames that cannot be kept, and all others."""
        spans = [span for _, span in self._spans]
        places = frames_to_put_first(spans, self._archives.raw_bytes, limit_bytes)
        far = {one for one in self._spans if one[1][:2] in places}
        near = [one for one in self._spans if one[1][:2] not in places]
        return far, near


def frames_to_put_first(
    spans: Sequence[Span], size_of: Callable[[int, int], int], limit_bytes: int
) -> set[Place]:
    """The frames that cannot be kept from their first span to their last one.

    Of those that would be in memory at one moment, the ones that are needed longest.
    """
    last = {span[:2]: at for at, span in enumerate(spans)}
    kept: set[Place] = set()
    far: set[Place] = set()
    by_need: list[tuple[int, Place]] = []  # a heap, the one that is needed longest at the front
    kept_bytes = 0
    for at, span in enumerate(spans):
        place = span[:2]
        if place not in kept and place not in far:
            kept.add(place)
            heapq.heappush(by_need, (-last[place], place))
            kept_bytes += size_of(*place)
        while kept_bytes > limit_bytes and -by_need[0][0] > at:
            _, furthest = heapq.heappop(by_need)
            kept.remove(furthest)
            far.add(furthest)
            kept_bytes -= size_of(*furthest)
        if last[place] == at and place in kept:
            kept.remove(
                place
            )  # in the heap it does no harm: whatever is needed longer is before it
            kept_bytes -= size_of(*place)
    return far


class _Frames:
    """Reads each frame once: when its first span comes, or some time before."""

    def __init__(self, archives: Archives, pool: ThreadPoolExecutor | None, ahead: int) -> None:
        self._archives = archives
        self._pool = pool
        self._ahead = ahead
        # A frame takes one as it is stored, and one for its content.
        self._rooms = _Rooms(2 * (ahead + 2))
        self._turn = threading.Lock()  # two that write to one file would wait in the kernel, busily

    def contents(
        self, spans: Sequence[Placed], target: int | None = None
    ) -> Generator[Iterator[memoryview], None, None]:
        """The pieces of each of these spans, which are all that is wanted of their frames.

        What a frame holds of them is written to the `target`, if there is one, as soon as it was read.
        """
        wanted: Wanted = {}
        for offset, (number, at, start, length) in spans:
            wanted.setdefault((number, at), []).append((start, length, offset))
        left = {place: len(parts) for place, parts in wanted.items()}
        kept: dict[Place, Frame] = {}
        with closing(self._read_all(wanted, target)) as frames:
            for _, (number, at, start, length) in spans:
                place = number, at
                frame = kept[place] if place in kept else next(frames)
                kept[place] = frame
                yield frame[0].pieces(start, length)
                left[place] -= 1
                if not left[place]:
                    self._rooms.give_back(kept.pop(place)[1])

    def _read_all(self, wanted: Wanted, target: int | None) -> Generator[Frame, None, None]:
        if self._pool is None:
            yield from (self._read(one, target) for one in wanted.items())
            return
        coming = iter(wanted.items())
        reading: deque[Future[Frame]] = deque()
        try:
            while True:
                for one in islice(coming, self._ahead + 1 - len(reading)):
                    reading.append(self._pool.submit(self._read, one, target))
                if not reading:
                    return
                yield reading[0].result()
                reading.popleft()
        finally:
            _wait_for(reading)

    def _read(self, wanted: tuple[Place, list[Part]], target: int | None) -> Frame:
        (number, frame), parts = wanted
        taken: list[memoryview] = []

        def room(count: int) -> memoryview:
            taken.append(self._rooms.take(count))
            return taken[-1][:count]

        places = [(start, length) for start, length, _ in parts]
        blocks = self._archives.fetched(number, frame, places, room)
        if target is not None:
            with self._turn:
                for start, length, offset in parts:
                    _write(target, offset, blocks.pieces(start, length))
        return blocks, taken


class _Rooms:
    """Memory for frames, used again: fresh memory costs as much as reading. Threads may share it."""

    def __init__(self, spare: int) -> None:
        self._spare: deque[memoryview] = deque(maxlen=spare)

    def take(self, count: int) -> memoryview:
        """A room for so many bytes, and not for very many more: frames may be kept for long."""
        for _ in range(len(self._spare)):
            try:
                room = self._spare.popleft()
            except IndexError:  # another thread took it
                break
            if count <= len(room) <= 2 * count:
                return room
            self._spare.append(room)
        return memoryview(bytearray(count))

    def give_back(self, rooms: Iterable[memoryview]) -> None:
        """These are not needed any more."""
        self._spare.extend(rooms)


def _wait_for(reading: Iterable[Future[Frame]]) -> None:
    """Waits for those that have begun, also when somebody is impatient.

    They may write to a file. When it is closed, its descriptor may soon be that of another one.
    """
    running = [one for one in reading if not one.cancel()]
    interrupt: BaseException | None = None
    for one in running:
        while not one.done():
            try:
                one.exception()
            except BaseException as error:  # noqa: BLE001 - is raised again
                interrupt = error
    if interrupt:
        raise interrupt


def _placed(spans: Iterable[Span]) -> Iterator[Placed]:
    """Each span with its offset in the file."""
    offset = 0
    for span in spans:
        yield offset, span
        offset += span[3]


def _write(target: int, offset: int, pieces: Iterator[memoryview]) -> None:
    for piece in pieces:
        left = piece
        while left:
            count = os.pwrite(target, left, offset)
            left, offset = left[count:], offset + count


def read_range(descriptor: int, offset: int, length: int) -> Iterator[memoryview]:
    """So many bytes of a file from an offset on, in pieces that hold until the next one."""
    room = memoryview(bytearray(min(length, _READ_BYTES)))
    while length:
        got = os.preadv(descriptor, [room[:length]], offset)
        if not got:
            raise OSError(errno.EIO, "the file became shorter while it was read")
        yield room[:got]
        offset, length = offset + got, length - got
