"""Turns a tar stream into LZ4 frames: compressed on all cores, written in order, hashed on the way."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Protocol

from scratchflow.archive.container import compress_frame
from scratchflow.archive.frame_buffer import FRAME_BYTES, Frame, FrameBuffer, Run
from scratchflow.archive.index import ArchiveFrames
from scratchflow.model.errors import NoSpace

__all__ = ["FRAME_BYTES", "FrameSink", "Out", "Work"]


class Out(Protocol):
    """What an archive is written to: a raw binary file, opened by the caller."""

    def write(self, content: bytes, /) -> int | None:
        """Writes some of the bytes and says how many (None or all for a buffered file)."""


class FdOut:
    """A plain descriptor as an `Out`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, content: bytes | memoryview, /) -> int:
        """One `write` system call."""
        return os.write(self._descriptor, content)


class Work(Protocol):
    """What became of a run that another thread wrote: its frames, in order."""

    run: Run
    frames: list[Frame]


_UnderWay = tuple["Future[list[Frame]]", Run] | tuple["Future[Work]", None]
# How many frames may wait to be written: a disk that pauses to write back does not stop the cores.
_MAX_WAITING = 12


class FrameSink(FrameBuffer):
    """Takes the tar stream into the buffer of the current frame, and sends full frames off.

    A part of the stream may also be handed to a thread of the pool that fills frames of its own;
    whatever comes later is written after it. Memory is bounded: `flush` waits for a free buffer,
    and for frames that wait to be written. An error of the destination comes up at the next
    `flush` or `close`, never as anything else.
    """

    def __init__(self, out: Out | int, *, archive_id: str, level: int, threads: int) -> None:
        self.frames = ArchiveFrames(archive_id)
        self.sha256 = hashlib.sha256()
        self.written = 0
        self.level = level
        self.runs: list[Run] = []  # in the order of the stream
        self._done: SimpleQueue[Work] = SimpleQueue()  # what was handed out and is written now
        self._out: Out = FdOut(out) if isinstance(out, int) else out
        self._error: BaseException | None = None
        self._pool = ThreadPoolExecutor(threads, "compress")
        self._hasher = ThreadPoolExecutor(1, "hash")
        # Places for buffers; a buffer is made when it is first needed, and used again.
        self._free: SimpleQueue[bytearray | None] = SimpleQueue()
        for _ in range(2 * threads + 1):
            self._free.put(None)
        self._under_way: SimpleQueue[_UnderWay | threading.Event | None] = SimpleQueue()
        self._waiting = threading.Semaphore(max(_MAX_WAITING, 2 * threads))
        self._writer = threading.Thread(target=self._write_frames, name="write", daemon=True)
        self._writer.start()
        self.on_frame: Callable[[], None] = lambda: None
        self._buffer = self._next_buffer()
        super().__init__(self._buffer)

    def flush(self) -> None:
        """Sends the current frame off to be compressed and written."""
        if not self.fill:
            return
        self.view.release()
        self._waiting.acquire()
        compressing = self._pool.submit(self._compress, self._buffer, self.fill)
        self._under_way.put((compressing, self.run))
        self.flushed += self.fill
        self.fill = 0
        self._buffer = self._next_buffer()
        self.view = memoryview(self._buffer)
        self._look_up()

    def hand_out(self, work: Callable[[], Work]) -> None:
        """Lets a thread of the pool write the next part of the stream."""
        self.flush()
        if self.flushed:
            self.run, self.flushed = Run(), 0
        self._waiting.acquire()
        self._under_way.put((self._pool.submit(work), None))
        self._look_up()

    def drain(self) -> None:
        """Waits until all that was sent off or handed out is written; the current frame goes on."""
        written = threading.Event()
        self._under_way.put(written)
        written.wait()
        self._look_up()

    def take_done(self) -> Iterator[Work]:
        """What was handed out and has been written since the last time, in order."""
        with suppress(Empty):
            while True:
                yield self._done.get_nowait()

    def _look_up(self) -> None:
        if self._error:
            raise self._error
        self.on_frame()

    def _next_buffer(self) -> bytearray:
        return self._free.get() or bytearray(FRAME_BYTES)

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
        self._pool.shutdown(cancel_futures=True)
        self._hasher.shutdown()

    def append(self, content: bytes) -> None:
        """Writes bytes that are no part of the tar stream, after the last frame."""
        self.sha256.update(content)
        self._write_checked(content)

    def _write_frames(self) -> None:
        while (under_way := self._under_way.get()) is not None:
            if isinstance(under_way, threading.Event):
                under_way.set()
                continue
            try:
                if under_way[1] is not None:
                    self._write_run(under_way[0].result(), under_way[1])
                else:
                    work = under_way[0].result()
                    self._write_run(work.frames, work.run)
                    work.frames = []  # it may be a while until somebody looks at the rest
                    self._done.put(work)
            except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for it
                self._error = self._error or error
            self._waiting.release()

    def _write_run(self, frames: list[Frame], run: Run) -> None:
        if self._error is not None:
            return
        ends = self.frames.raw_ends
        if run.base < 0:
            run.base = ends[-1] if ends else 0
            self.runs.append(run)
        for packed, raw_bytes in frames:
            self._write(packed)
            ends.append((ends[-1] if ends else 0) + raw_bytes)
            self.frames.packed_ends.append(self.written)

    def _compress(self, buffer: bytearray, count: int) -> list[Frame]:
        try:
            return [(compress_frame(memoryview(buffer)[:count], self.level), count)]
        finally:
            self._free.put(buffer)

    def _write(self, packed: bytes) -> None:
        hashing = self._hasher.submit(self.sha256.update, packed)
        try:
            self._write_checked(packed)
        finally:
            hashing.result()

    def _write_checked(self, packed: bytes) -> None:
        try:
            view = memoryview(packed)
            while view:
                count = self._out.write(view)  # type: ignore[arg-type]  # any buffer will do
                view = view[len(view) if count is None else count :]
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                path = getattr(self._out, "name", self.frames.id)
                raise NoSpace(path=path, reason=error.strerror) from error
            raise
        self.written += len(packed)
