"""A queue of numbers that several processes take from, each number once.

They wait in a pipe that everybody reads from, so that nobody is idle while there is something
left, and nobody has to be asked.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import termios
from array import array

_NUMBER = struct.Struct("<H")
# As many as the smallest pipe holds (a page; users with many pipes get no more): all of them are
# written before anybody reads.
MAX_SHARES = 4096 // _NUMBER.size


class Shares:
    """The numbers below `count`, in order."""

    def __init__(self, count: int) -> None:
        if count > MAX_SHARES:
            raise ValueError("more shares than a pipe holds")
        self.count = count
        self._somebody_waits: mmap.mmap | bytearray
        try:
            self._somebody_waits = mmap.mmap(-1, 1)  # a byte that all processes see
        except OSError:  # no memory may be shared: then each knows only of itself
            self._somebody_waits = bytearray(1)
        self.descriptor, self._writing = os.pipe()
        self._begin()

    def _begin(self) -> None:
        try:
            os.write(self._writing, b"".join(map(_NUMBER.pack, range(self.count))))
        finally:
            self.end()

    def end(self) -> None:
        """No more will come. May be called twice."""
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1

    def take(self) -> int | None:
        """The next one that nobody has taken yet; None when all are taken."""
        content = os.read(self.descriptor, _NUMBER.size)  # so few bytes come whole
        if not content:
            self._somebody_waits[0] = 1
            return None
        number: int = _NUMBER.unpack(content)[0]
        return number

    @property
    def somebody_waits(self) -> bool:
        """Whether one of the processes found nothing left."""
        return bool(self._somebody_waits[0])

    def close(self) -> None:
        """May be called twice."""
        self.end()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class GrowingShares(Shares):
    """The same numbers, but each can be taken only after it was given; whoever is early waits until `end`."""

    _without_waiting = -1

    def _begin(self) -> None:
        self._given = 0
        # Opened anew: what does not wait for this process must not be so for the others.
        path = f"/proc/self/fd/{self.descriptor}"
        try:
            self._without_waiting = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self.close()
            raise

    def give(self) -> None:
        """The next number may be taken."""
        os.write(self._writing, _NUMBER.pack(self._given))
        self._given += 1

    def take_now(self) -> int | None:
        """The next one, if there is one right now; only for the process that gives them."""
        try:
            content = os.read(self._without_waiting, _NUMBER.size)
        except BlockingIOError:
            return None
        number: int = _NUMBER.unpack(content)[0]
        return number

    def close(self) -> None:
        super().close()
        if self._without_waiting >= 0:
            os.close(self._without_waiting)
            self._without_waiting = -1

    @property
    def waiting(self) -> int:
        """How many were given that nobody has taken yet."""
        count = array("i", [0])
        fcntl.ioctl(self.descriptor, termios.FIONREAD, count)
        return count[0] // _NUMBER.size
