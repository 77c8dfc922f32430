"""What is known about a workspace right after a delta, without walking it again.

Files that the delta left alone are described as they were scanned before it, not as they are
now: whoever changed one since then changed its change time, and the next backup sees that.
Files that the delta wrote or gave new metadata are read by the next backup: another process may
have written to them since, and their stamps of now would vouch for bytes that nobody has read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from scratchflow.archive.compare.delta import Delta
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree.index import RECHECK, Index


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
    for entry in touched:
        cache.flags[entry] = RECHECK
    return cache
