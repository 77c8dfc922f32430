"""What is known about a workspace right after a delta, without walking it again.

Files that the delta left alone are described as they were scanned before it, not as they are
now: whoever changed one since then changed its change time, and the next backup sees that.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Iterable

from scratchflow.archive.cache import ScanCache, is_racy
from scratchflow.archive.differences import Delta
from scratchflow.archive.dirfds import DirectoryHandles
from scratchflow.archive.index import RECHECK, Index
from scratchflow.archive.scan import ScannedTree, clamped_ns


def cache_after(
    delta: Delta, touched: Iterable[int], scanned: ScannedTree, flags: array[int], wanted: Index
) -> ScanCache:
    """The scan cache of `wanted`, once `delta` has been applied to the tree that was scanned.

    `flags` are those of the scan's entries: what could not be trusted then cannot be now.
    """
    cache = ScanCache(wanted.id)
    cache.inode = array("Q", bytes(8 * len(wanted)))
    cache.ctime_ns = array("q", bytes(8 * len(wanted)))
    cache.flags = array("B", bytes([RECHECK]) * len(wanted))
    for entry, known, count in delta.pairs:
        cache.inode[entry : entry + count] = scanned.inode[known : known + count]
        cache.ctime_ns[entry : entry + count] = scanned.ctime_ns[known : known + count]
        cache.flags[entry : entry + count] = flags[known : known + count]
    _look_again(cache, touched, scanned, wanted)
    return cache


def _look_again(
    cache: ScanCache, touched: Iterable[int], scanned: ScannedTree, wanted: Index
) -> None:
    """Takes down what was just written. Whatever is not as it was left is read by the next backup."""
    started_ns = time.time_ns()
    with DirectoryHandles(wanted, os.fsencode(scanned.scratch)) as handles:
        for entry in sorted(touched):
            cache.flags[entry] = RECHECK
            try:
                directory = handles.get(wanted.group_of(entry))
                found = os.stat(wanted.names[entry], dir_fd=directory, follow_symlinks=False)
            except OSError:
                continue
            ctime_ns, mtime_ns = clamped_ns(found.st_ctime_ns), clamped_ns(found.st_mtime_ns)
            cache.inode[entry], cache.ctime_ns[entry] = found.st_ino, ctime_ns
            if mtime_ns == wanted.mtime_ns[entry]:
                cache.flags[entry] = RECHECK * is_racy(max(mtime_ns, ctime_ns), started_ns)
