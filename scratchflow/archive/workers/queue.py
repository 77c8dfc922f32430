"""A queue of numbers that several processes take from, each number once.

They wait in a pipe that everybody reads from, so that nobody is idle while there is something
left, and nobody has to be asked.
"""

from __future__ import annotations

import mmap
import os
import struct

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
        self._somebody_waits = mmap.mmap(-1, 1)  # a byte that all processes see
        self.descriptor, writing = os.pipe()
        try:
            os.write(writing, b"".join(map(_NUMBER.pack, range(count))))
        finally:
            os.close(writing)

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
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
