"""Holes in files: found with SEEK_DATA and SEEK_HOLE."""

from __future__ import annotations

import errno
import os

# Below this a hole saves less than the pax header that describes it is worth.
MIN_SPARSE_BYTES = 64 << 10


def data_extents(descriptor: int, stats: os.stat_result) -> list[int] | None:
    """Offset and length of each stretch of data, flat; None when the file has no holes."""
    size = stats.st_size
    if size < MIN_SPARSE_BYTES or stats.st_blocks * 512 >= size or not hasattr(os, "SEEK_DATA"):
        return None
    extents: list[int] = []
    position = 0
    while position < size:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
            position = min(os.lseek(descriptor, start, os.SEEK_HOLE), size)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole from here on
                break
            return None
        if start >= size:
            break
        extents += [start, position - start]
    return None if extents == [0, size] else extents
