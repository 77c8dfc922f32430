"""The content of an open large file in windows, each with the chunks that it consists of."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator

from scratchflow.archive.files.chunker import Window, cut_windows
from scratchflow.archive.files.digest import StreamDigest, update_with_zeros
from scratchflow.archive.files.holes import MAX_HOLE_BYTES, data_extents
from scratchflow.archive.tree import chunks
from scratchflow.archive.write.archive_out import FRAME_BYTES

# The new chunks of one window, a header and what fills the last block up fit into one frame.
WINDOW_BYTES = FRAME_BYTES - (64 << 10)


class LargeFile:
    """The stored bytes of an open file, from the first to the last.

    `digest` is that of the whole file, holes included, once all windows were taken; it stays None when the
    file could not be read to the end that it had.
    """

    def __init__(self, descriptor: int, stats: os.stat_result, seed: int) -> None:
        self.extents = data_extents(descriptor, stats)
        self.digest: bytes | None = None
        pairs = [0, stats.st_size] if self.extents is None else self.extents
        self._stored = self._left = sum(pairs[1::2])
        self._descriptor = descriptor
        self._size = stats.st_size
        self._seed = seed
        self._coming = deque(zip(pairs[::2], pairs[1::2], strict=True))
        self._at = 0  # in the file, of what was digested
        self._digest = StreamDigest(seed=seed)

    @property
    def is_worthwhile(self) -> bool:
        """Whether it has enough content for chunks, and no more holes than any reader takes."""
        holes = self._size - self._stored
        return self._stored >= chunks.MIN_CHUNKED_BYTES and holes <= MAX_HOLE_BYTES

    def windows(self) -> Iterator[Window]:
        """The content in pieces; that of one is there until the next is asked for."""
        buffer = memoryview(bytearray(WINDOW_BYTES))
        try:
            yield from cut_windows(self._read, self._stored, self._seed, lambda: buffer)
        except OSError:
            return  # from here on it is unreadable: there is no digest
        if not self._left:
            update_with_zeros(self._digest, self._size - self._at)
            self.digest = self._digest.digest()

    def _read(self, room: memoryview) -> int:
        """Some of the next bytes; none when the file is shorter than it was."""
        offset, length = self._coming[0]
        got = os.preadv(self._descriptor, [room[:length]], offset)
        update_with_zeros(self._digest, offset - self._at)
        self._digest.update(room[:got])
        self._at = offset + got
        self._left -= got
        self._coming[0] = (offset + got, length - got)
        if got == length:
            self._coming.popleft()
        return got
