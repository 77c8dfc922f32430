"""Turns a tar stream into LZ4 frames: compressed on all cores, written in order, hashed on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue

import msgspec

from scratchflow.archive.format.container import MAX_PACKED_BYTES, compress_frame
from scratchflow.archive.write.archive_out import FRAME_BYTES, ArchiveOut, Out


class _Frame(msgspec.Struct, frozen=True):
    """A frame on its way: its bytes, once it is compressed, and whom to tell when it is written."""

    packed: Callable[[], memoryview]
    raw_bytes: int
    done: Callable[[], None]


# How many frames may wait to be written: a disk that pauses to write back does not stop the cores.
_MAX_WAITING = 12
# So much of an archive may be made as small as possible, which costs a second of one core: a large
# file that changed a little is the rule, and one that changed all over should not be waited for.
_MAX_SMALLEST_BYTES = 64 << 20
# Each has two buffers, and one thread writes what all of them make.
_MAX_THREADS = 8


class FrameSink(ArchiveOut):
    """Takes the tar stream into the buffer of the current frame, and sends full frames off.

    Memory is bounded: `flush` waits for a free buffer, and for frames that wait to be written.
    An error of the destination comes up at the next `flush` or `close`, never as anything else.
    """

    def __init__(self, out: Out | int, *, archive_id: str, level: int, threads: int) -> None:
        super().__init__(out, archive_id)
        self._level = level
        self._error: BaseException | None = None
        threads = min(threads, _MAX_THREADS)
        self._compressors = ThreadPoolExecutor(threads, "compress")
        # Places for buffers; a buffer is made when it is first needed, and used again.
        self._free: SimpleQueue[bytearray | None] = SimpleQueue()
        for _ in range(2 * threads + 1):
            self._free.put(None)
        self._outs: SimpleQueue[memoryview] = SimpleQueue()  # used before, and free
        self._under_way: SimpleQueue[_Frame | None] = SimpleQueue()
        self._waiting = threading.Semaphore(_MAX_WAITING)
        self._writer = threading.Thread(target=self._write_frames, name="write", daemon=True)
        self._writer.start()
        self.on_frame: Callable[[], None] = lambda: None
        self._buffer = self._next_buffer()
        self.view = memoryview(self._buffer)
        self.fill = 0
        self._flushed = 0
        self._smallest = False
        self._smallest_left = _MAX_SMALLEST_BYTES

    @property
    def position(self) -> int:
        """Where in the tar stream the next byte goes."""
        return self._flushed + self.fill

    def put(self, content: bytes | memoryview) -> None:
        """Appends bytes, over as many frames as it takes."""
        start = 0
        while start < len(content):
            if self.fill == FRAME_BYTES:
                self.flush()
            count = min(len(content) - start, FRAME_BYTES - self.fill)
            self.view[self.fill : self.fill + count] = content[start : start + count]
            self.fill += count
            start += count

    def make_room(self, count: int) -> None:
        """Begins a new frame when this many bytes would not fit into the current one."""
        if self.fill + count > FRAME_BYTES and self.fill:
            self.flush()

    def make_smallest(self) -> None:
        """The current frame is to take as little room as possible, if not too many were to."""
        self._smallest = self._smallest_left > 0

    def flush(self) -> None:
        """Sends the current frame off to be compressed and written."""
        if not self.fill:
            return
        smallest, self._smallest = self._smallest, False
        self._smallest_left -= self.fill if smallest else 0
        self.view.release()
        self._waiting.acquire()
        out = self._next_out()
        compressing = self._compressors.submit(
            self._compress, self._buffer, self.fill, out, smallest=smallest
        )
        self._under_way.put(_Frame(compressing.result, self.fill, lambda: self._outs.put(out)))
        self._flushed += self.fill
        self.fill = 0
        self._buffer = self._next_buffer()
        self.view = memoryview(self._buffer)
        if self._error:
            raise self._error
        self.on_frame()

    def put_frame(self, packed: memoryview, raw_bytes: int, release: Callable[[], None]) -> int:
        """Appends a frame that is finished already, and says where its content begins.

        `release` is called when it is written.
        """
        self.flush()
        begins = self._flushed
        self._waiting.acquire()
        self._under_way.put(_Frame(lambda: packed, raw_bytes, release))
        self._flushed += raw_bytes
        if self._error:
            raise self._error
        self.on_frame()
        return begins

    def _next_buffer(self) -> bytearray:
        return self._free.get() or bytearray(FRAME_BYTES)

    def _next_out(self) -> memoryview:
        """Room for a packed frame; as many are made as frames are under way at once."""
        with suppress(Empty):
            return self._outs.get_nowait()
        return memoryview(bytearray(MAX_PACKED_BYTES))

    def close(self) -> None:
        """Waits until every frame is written."""
        self.flush()
        self._stop()
        if self._error:
            raise self._error

    def abort(self) -> None:
        """Ends the threads; what was written so far is of no use."""
        self._error = self._error or RuntimeError("aborted")
        self._stop()

    def _stop(self) -> None:
        self._under_way.put(None)
        self._writer.join()
        self._compressors.shutdown()

    def _write_frames(self) -> None:
        while (frame := self._under_way.get()) is not None:
            try:
                packed = frame.packed()
                if self._error is None:
                    self.add_frame(packed, frame.raw_bytes)
            except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for it
                self._error = error
            frame.done()
            self._waiting.release()

    def _compress(
        self, buffer: bytearray, count: int, out: memoryview, *, smallest: bool
    ) -> memoryview:
        raw = memoryview(buffer)[:count]
        try:
            return out[: compress_frame(raw, self._level, out, smallest=smallest)]
        finally:
            self._free.put(buffer)
