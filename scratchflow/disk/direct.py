"""Files written and read past the page cache, where the file system lets us.

An archive is written once and not needed again by this machine. Sent around the page cache it costs
a fraction of the processor time, and pushes out nothing that somebody is working with.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from collections.abc import Iterator

# A multiple of every alignment that a file system asks for; mapped memory begins on a page.
BUFFER_BYTES = 4 << 20
# How file systems say that they cannot: when asked for it, or when it is used.
_REFUSED = {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}


def set_direct(descriptor: int, *, on: bool) -> bool:
    """Whether the descriptor goes past the page cache from now on."""
    flag = getattr(os, "O_DIRECT", 0)  # macOS has none
    if not flag:
        return False
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | flag if on else flags & ~flag)
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
        return False
    return on


def aligned_buffer(size_bytes: int = BUFFER_BYTES) -> memoryview:
    """Memory that may be read into, or written from, directly.

    Shared memory, as `mmap` makes it here: a fork in the middle of a direct read would leave
    private pages to the child.
    """
    return memoryview(mmap.mmap(-1, size_bytes))


class DirectAppend:
    """Appends to an open file in large, aligned pieces; `flush` brings the rest.

    `written_bytes` is what the file has: what is appended may wait here for more.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_direct = set_direct(descriptor, on=True)
        self._buffer = aligned_buffer()
        self._fill = 0
        self.written_bytes = 0

    def append(self, content: memoryview) -> None:
        """Takes all of it, or raises the file's OSError."""
        while content:
            count = min(len(content), BUFFER_BYTES - self._fill)
            self._buffer[self._fill : self._fill + count] = content[:count]
            self._fill += count
            content = content[count:]
            if self._fill == BUFFER_BYTES:
                self._write_buffer()

    def flush(self) -> None:
        """Everything is in the file: in the page cache, if not on the disk."""
        self._leave_direct()
        self._write_buffer()

    def _write_buffer(self) -> None:
        rest = self._buffer[: self._fill]
        while rest:
            count = self._write(rest)
            self.written_bytes += count
            rest = rest[count:]
        self._fill = 0

    def _write(self, content: memoryview) -> int:
        try:
            return os.write(self._descriptor, content)
        except OSError as error:
            # Not this file system after all, or not from the middle of a piece.
            if error.errno not in _REFUSED or not self._is_direct:
                raise
        self._leave_direct()
        return os.write(self._descriptor, content)

    def _leave_direct(self) -> None:
        if self._is_direct:
            self._is_direct = set_direct(self._descriptor, on=False)


class DirectReader:
    """Reads an open file from the disk, not from what this machine remembers of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_direct = set_direct(descriptor, on=True)
        self._buffer: memoryview | None = None

    def pieces(self, start: int, end: int) -> Iterator[memoryview]:
        """The bytes from `start` to `end`, or to the end of the file; each piece until the next."""
        self._forget(start, end - start)
        buffer = self._buffer = self._buffer or aligned_buffer()
        while start < end and (count := min(self._read(buffer, start), end - start)):
            yield buffer[:count]
            start += count

    def _read(self, buffer: memoryview, position: int) -> int:
        try:
            return os.preadv(self._descriptor, [buffer], position)
        except OSError as error:
            # Not this file system after all, or not from the middle of a piece.
            if error.errno not in _REFUSED or not self._is_direct:
                raise
        self._is_direct = set_direct(self._descriptor, on=False)
        self._forget(position, 0)  # all that follows
        return os.preadv(self._descriptor, [buffer], position)

    def _forget(self, start: int, count: int) -> None:
        """The next best: asks the system to drop what it remembers of the file."""
        if not self._is_direct and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._descriptor, start, count, os.POSIX_FADV_DONTNEED)
