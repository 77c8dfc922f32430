"""Reading an archive back while it is still being written, so that the proof costs little time.

Every piece is made durable and read again from the store, past this machine's own memory where the
file system can do that; where it cannot, the memory is asked to forget it first.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.disk.direct import DirectReader

# One `fdatasync` for each of these: rare enough for a network file system, and little is left to
# be read when the last byte is written.
PIECE_BYTES = 16 << 20
_make_durable = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


class ReadBack:
    """Digests what the store holds, behind a writer that appends. One thread, started when needed."""

    def __init__(self, path: Path) -> None:
        # Opened anew: the writer closes its descriptor when it is done, and renames the file.
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._reader = DirectReader(self._descriptor)
        self._digest = WholeDigest()
        self._position = 0
        self._written = 0
        self._ended = False
        self._error: OSError | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_alone = False

    def note_written(self, written_bytes: int) -> None:
        """So many bytes are in the file now."""
        if written_bytes - self._written < PIECE_BYTES:
            return
        with self._changed:
            self._written = written_bytes
            self._changed.notify()
        if self._thread is None and not self._is_alone:
            self._start()

    def _start(self) -> None:
        thread = threading.Thread(target=self._follow, name="read-back", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads allowed: all is read at the end
            self._is_alone = True
            return
        self._thread = thread

    def finish(self, written_bytes: int) -> str:
        """The digest of the whole file, once the writer has made it durable; or its OSError."""
        self._stop()
        if self._error is not None:
            raise self._error
        self._read_to(written_bytes)
        return self._digest.text()

    def close(self) -> None:
        """Closes the thread and the descriptor. May be called twice."""
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
        for piece in self._reader.pieces(self._position, end):
            self._digest.update(piece)
            self._position += len(piece)
        # Shorter than what was written? The digest will tell.
