"""What only this disk knows about a snapshot: inodes and change times, kept beside the workspace.

An index says what a file held; the cache says that this very file on this disk has not been
touched since. It belongs to one snapshot and one tree; without it every file has to be read.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from array import array
from pathlib import Path

from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree.index import RECHECK, Index
from scratchflow.disk.durable import replace_file

_WORD = b"SCRCACH1"
_HEADER = struct.Struct("<8sHQ")  # word, length of the id, entries
# How far behind the clock a fresh timestamp can be: the kernel's tick, and for file systems that
# keep whole seconds (or, as FAT, even ones) up to two of them.
_TICK_NS = 50_000_000
_COARSE_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000


class ScanCache:
    """Inode, change time and recheck flag of every entry of one snapshot's index, in its order."""

    def __init__(self, snapshot: str) -> None:
        self.snapshot = snapshot
        self.inode = array("Q")
        self.ctime_ns = array("q")
        self.flags = array("B")

    @classmethod
    def of(cls, scanned: ScannedTree, index: Index, flags: array[int] | None = None) -> ScanCache:
        """The cache for a tree with the very entries of an index; see `if_equal` when in doubt."""
        if not _same_entries(scanned, index):
            raise ValueError("a cache needs a tree with the very entries of the index")
        cache = cls(index.id)
        cache.inode = scanned.inode
        cache.ctime_ns = scanned.ctime_ns
        cache.flags = recheck_flags(scanned) if flags is None else flags
        return cache

    @classmethod
    def if_equal(
        cls, scanned: ScannedTree, index: Index, verified_ns: int | None = None
    ) -> ScanCache | None:
        """The cache for a workspace that holds the index's tree; None if the paths differ.

        `verified_ns` is when the content was last known to be the index's; the start of the scan
        if not given. Files touched later than that are flagged: somebody may have rewritten them.
        """
        if not _same_entries(scanned, index):
            return None
        return cls.of(scanned, index, recheck_flags(scanned, verified_ns))

    @classmethod
    def load(cls, path: Path, index: Index) -> ScanCache | None:
        """The cache at `path` if it is whole and belongs to this index; None otherwise."""
        try:
            content = path.read_bytes()
        except OSError:
            return None
        return _decode(content, index)

    def renamed(self, snapshot: str) -> ScanCache:
        """The same knowledge for a snapshot with the very same entries."""
        cache = ScanCache(snapshot)
        cache.inode, cache.ctime_ns, cache.flags = self.inode, self.ctime_ns, self.flags
        return cache

    def save(self, path: Path) -> None:
        """Writes the cache; readers see the old one or the new one."""
        replace_file(path, _encode(self))


def _same_entries(scanned: ScannedTree, index: Index) -> bool:
    return (
        len(scanned) == len(index)
        and scanned.children == index.children
        and scanned.names.blob == index.names.blob
    )


def _encode(cache: ScanCache) -> bytes:
    snapshot = cache.snapshot.encode()
    columns = [_little_endian(column) for column in (cache.inode, cache.ctime_ns, cache.flags)]
    body = b"".join(
        [_HEADER.pack(_WORD, len(snapshot), len(cache.inode)), snapshot]
        + [column.tobytes() for column in columns]
    )
    return body + hashlib.sha256(body).digest()


def _decode(content: bytes, index: Index) -> ScanCache | None:
    body = content[:-32]
    if len(body) < _HEADER.size or hashlib.sha256(body).digest() != content[-32:]:
        return None
    word, id_bytes, count = _HEADER.unpack_from(body)
    snapshot = body[_HEADER.size : _HEADER.size + id_bytes]
    if word != _WORD or snapshot != index.id.encode() or count != len(index):
        return None
    cache = ScanCache(index.id)
    position = _HEADER.size + id_bytes
    if len(body) != position + 17 * count:
        return None
    for column in (cache.inode, cache.ctime_ns, cache.flags):
        column.frombytes(body[position : position + column.itemsize * count])
        position += column.itemsize * count
    if sys.byteorder == "big":
        cache.inode.byteswap()
        cache.ctime_ns.byteswap()
    return cache


def _little_endian(column: array[int]) -> array[int]:
    if sys.byteorder == "big" and column.itemsize > 1:
        column = column[:]
        column.byteswap()
    return column


def recheck_flags(scanned: ScannedTree, verified_ns: int | None = None) -> array[int]:
    """Flags entries touched so shortly before the scan that a later write could look the same.

    A file written, scanned and written again within one tick of the file system's clock keeps
    size and timestamps: only reading it again can tell. With `verified_ns`, entries touched since
    then are flagged as well. So are files that a process has mapped to write to them.
    """
    flags = array("B", bytes(len(scanned)))
    since_ns = scanned.started_ns if verified_ns is None else min(verified_ns, scanned.started_ns)
    limit_ns = since_ns - _COARSE_NS
    recent: set[int] = set()
    for column in (scanned.mtime_ns, scanned.ctime_ns):
        if max(column, default=limit_ns - 1) >= limit_ns:
            recent.update([entry for entry, touched in enumerate(column) if touched >= limit_ns])
    for entry in recent:
        touched_ns = max(scanned.mtime_ns[entry], scanned.ctime_ns[entry])
        flags[entry] = RECHECK * is_racy(touched_ns, since_ns)
    if not scanned.mapped.isdisjoint(scanned.inode):
        for entry, inode in enumerate(scanned.inode):
            if inode in scanned.mapped:
                flags[entry] = RECHECK
    return flags


def is_racy(touched_ns: int, started_ns: int) -> bool:
    """Whether a timestamp is too close to the start of the scan to be trusted."""
    slack_ns = _TICK_NS if touched_ns % _SECOND_NS else _COARSE_NS
    return touched_ns >= started_ns - slack_ns
