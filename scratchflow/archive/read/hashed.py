"""An archive read from its first byte to its last, and all that was read hashed."""

from __future__ import annotations

import os
from collections.abc import Callable

from scratchflow.archive.format.container import FOOTER_BYTES
from scratchflow.archive.format.whole_digest import XXH3, WholeDigest
from scratchflow.archive.read.archive_file import read_into

_READ_BYTES = 1 << 20
_REPORT_EVERY_BYTES = 64 << 20

ReadSoFar = Callable[[int], None]  # so many bytes of the file


class HashedFile:
    """Reads an open file in order, one thread at a time; its digest is of the same kind as `like`."""

    def __init__(self, descriptor: int, like: str = XXH3) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._before_footer = max(0, self._size - FOOTER_BYTES)
        self._digest = WholeDigest(like)
        self._content_digest = self._digest.text()  # of what is before the footer
        self._at = 0

    def fill(self, room: memoryview) -> None:
        """Fills this with the next bytes, none of the footer among them; Malformed when there are not so many."""
        read_into(self._descriptor, room, self._at)
        self._take(room)

    def finish(self, progress: ReadSoFar = lambda _: None) -> tuple[str, str]:
        """Reads what was not read yet; the digest of all bytes before the footer, and of the whole file."""
        view = memoryview(bytearray(_READ_BYTES))
        while self._at < self._size:
            limit = self._before_footer if self._at < self._before_footer else self._size
            room = view[: min(limit - self._at, _READ_BYTES)]
            count = os.preadv(self._descriptor, [room], self._at)
            if not count:
                break
            before = self._at
            self._take(room[:count])
            if self._at // _REPORT_EVERY_BYTES > before // _REPORT_EVERY_BYTES:
                progress(self._at)
        return self._content_digest, self._digest.text()

    def _take(self, content: memoryview) -> None:
        self._digest.update(content)
        self._at += len(content)
        if self._at == self._before_footer:
            self._content_digest = self._digest.text()
