"""What is written to an `Out`, as pieces for somebody who sends them on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, Full, Queue
from typing import Generic, TypeVar

from scratchflow.archive.write.archive_out import Out

T = TypeVar("T")

PIECE_BYTES = 1 << 18
# Together 8 MiB: enough to keep both sides busy, however large the archive is.
_MAX_WAITING = 32
_QUIET_S = 0.1


class Abandoned(Exception):
    """Nobody takes the pieces any more."""


class Streamed(Generic[T]):
    """Runs `write` in a thread, and gives what it writes piece by piece; `b""` while nothing comes.

    What `write` raises comes up at the end of the pieces. `result` is what it returned.
    """

    def __init__(self, write: Callable[[Out], T]) -> None:
        self._write = write
        self._queue: Queue[bytes | None] = Queue(_MAX_WAITING)
        self._is_closed = False
        self._error: BaseException | None = None
        self._results: list[T] = []
        self._thread = threading.Thread(target=self._run, name="archive", daemon=True)

    @property
    def result(self) -> T:
        """After the last piece."""
        return self._results[0]

    def __iter__(self) -> Iterator[bytes]:
        self._thread.start()
        while True:
            try:
                piece = self._queue.get(timeout=_QUIET_S)
            except Empty:
                yield b""
                continue
            if piece is None:
                break
            yield piece
        self._thread.join()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Ends the thread, wherever it is; harmless when repeated."""
        self._is_closed = True
        if self._thread.ident is not None:
            self._thread.join()

    def write(self, content: bytes, /) -> int:
        """For the thread: takes all of it, and waits while too much of it waits."""
        view = memoryview(content)
        for start in range(0, len(view), PIECE_BYTES):
            self._put(bytes(view[start : start + PIECE_BYTES]))
        return len(view)

    def _put(self, piece: bytes | None) -> None:
        while not self._is_closed:
            try:
                self._queue.put(piece, timeout=_QUIET_S)
            except Full:
                continue
            return
        if piece is not None:
            raise Abandoned

    def _run(self) -> None:
        try:
            self._results.append(self._write(self))
        except BaseException as error:  # noqa: BLE001 - raised where the pieces are taken
            self._error = error
        self._put(None)
