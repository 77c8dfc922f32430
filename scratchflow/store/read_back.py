"""Reading an archive back while it is still being written, so that the proof costs little time.

Every piece is made durable, dropped from this node's memory where the system allows it, and read
again from the store. A network mount may still answer from a cache of its own.
"""

from __future__ import annotations

import os
import threading

import xxhash

# One `fdatasync` for each of these: rare enough for a network file system.
PIECE_BYTES = 64 << 20
_READ_BYTES = 4 << 20
_make_durable = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


class ReadBack:
    """Digests what the store holds, behind a writer that appends. One thread, started when needed."""

    def __init__(self, descriptor: int) -> None:
        # A descriptor of our own: the writer closes its one when it is done.
        self._descriptor = os.dup(descriptor)
        self._digest = xxhash.xxh3_128()
        self._position = 0
        self._written = 0
        self._ended = False
        self._error: OSError | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def note_written(self, written_bytes: int) -> None:
        """So many bytes are in the file now."""
        if written_bytes - self._written < PIECE_BYTES:
            return
        with self._changed:
            self._written = written_bytes
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, name="read-back", daemon=True)
            self._thread.start()

    def finish(self, written_bytes: int) -> str:
        """The digest of the whole file, once the writer has made it durable; or its OSError."""
        self._stop()
        if self._error is not None:
            raise self._error
        self._read_to(written_bytes)
        return self._digest.hexdigest()

    def close(self) -> None:
        """Lets go of the thread and the descriptor; harmless when repeated."""
        self._stop()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _stop(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _follow(self) -> None:
        try:
            while (end := self._next_end()) is not None:
                _make_durable(self._descriptor)
                self._read_to(end)
        except OSError as error:
            self._error = error

    def _next_end(self) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._written > self._position)
            return None if self._ended else self._written

    def _read_to(self, end: int) -> None:
        if hasattr(os, "posix_fadvise"):
            length = end - self._position
            os.posix_fadvise(self._descriptor, self._position, length, os.POSIX_FADV_DONTNEED)
        buffer = memoryview(bytearray(min(_READ_BYTES, max(1, end - self._position))))
        while self._position < end:
            wanted = buffer[: min(len(buffer), end - self._position)]
            count = os.preadv(self._descriptor, [wanted], self._position)
            if not count:
                return  # shorter than what was written: the digest will tell
            self._digest.update(wanted[:count])
            self._position += count
