"""Holes in files: found with SEEK_DATA and SEEK_HOLE."""

from __future__ import annotations

import errno
import os

# Below this a hole saves less than the pax header that describes it is worth.
MIN_SPARSE_BYTES = 64 << 10
# Zeros are digested like any content, at 4 to 30 GB/s, so holes cost time though they take no room.
# No file of a snapshot has more: ext4 holds no larger file, and half an hour is enough for one.
MAX_HOLE_BYTES = 16 << 40
# What an archive from elsewhere may have in all: a few empty databases of 1 TiB, as LMDB makes
# them, and 4 KiB for every byte of the archive. A small file then costs minutes at most.
_FREE_HOLE_BYTES = 2 << 40
_HOLE_BYTES_A_BYTE = 4096


def hole_allowance(archive_bytes: int) -> int:
    """How many bytes of holes an archive of this size from elsewhere may have in all."""
    return _FREE_HOLE_BYTES + _HOLE_BYTES_A_BYTE * archive_bytes


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
