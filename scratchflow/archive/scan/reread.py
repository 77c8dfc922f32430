"""Reads files whose metadata cannot prove what they hold, on all cores when there are many."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from scratchflow.archive.files.digest import digest_of_file, read_buffer
from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.files.xattrs import read_xattrs
from scratchflow.archive.progress import usable_cores
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.workers.helpers import Helpers
from scratchflow.archive.workers.queue import MAX_SHARES, Shares

OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# What a process takes at a time. A file counts as many bytes as could be read while it is opened.
_SHARE_BYTES = 32 << 20
_BYTES_TO_OPEN = 64 << 10
_MAX_HELPERS = 7


class Looked(msgspec.Struct):
    """What was read: digests by entry, and the attributes of those entries that have any."""

    digests: dict[int, bytes] = msgspec.field(default_factory=dict)
    xattrs: dict[int, dict[bytes, bytes]] = msgspec.field(default_factory=dict)


class Looker:
    """Reads files of a tree and remembers their digests: no file is read twice."""

    def __init__(self, scanned: ScannedTree, seed: int) -> None:
        self._scanned = scanned
        self._seed = seed
        self._looked_at: set[int] = set()
        self.found = Looked()

    def look_at(self, entries: Sequence[int]) -> None:
        """Reads those that were not read yet.

        A file that cannot be read, or is not what the scan saw any more, gets no digest.
        """
        entries = [entry for entry in entries if entry not in self._looked_at]
        if not entries:
            return
        self._looked_at.update(entries)
        shares = _shares(self._scanned, entries)
        reading = _Reading(self._scanned, self._seed, shares)
        numbers = Shares(len(shares))
        helpers = Helpers(numbers, reading.do, min(usable_cores() - 1, _MAX_HELPERS))
        try:
            for _, found in helpers.all_results():
                self._note(found)
        finally:
            helpers.close()
            reading.close()

    def _note(self, found: tuple[Any, Any]) -> None:
        digests, xattrs = found
        self.found.digests.update(digests)
        self.found.xattrs.update(xattrs)


def _shares(scanned: ScannedTree, entries: Sequence[int]) -> list[Sequence[int]]:
    """The entries in the same order, cut into pieces that take about equally long to read."""
    weights = [scanned.size[entry] + _BYTES_TO_OPEN for entry in entries]
    limit = max(_SHARE_BYTES, sum(weights) // (MAX_SHARES - 1) + 1)
    shares: list[Sequence[int]] = []
    start = weight = 0
    for position, more in enumerate(weights, 1):
        weight += more
        if weight >= limit or position == len(entries):
            shares.append(entries[start:position])
            start, weight = position, 0
    return shares


class _Reading:
    """The work of one process: it opens its own directories when it does its first share."""

    def __init__(self, scanned: ScannedTree, seed: int, shares: list[Sequence[int]]) -> None:
        self._scanned = scanned
        self._seed = seed
        self._shares = shares
        self._handles: DirectoryHandles | None = None
        self._buffer = bytearray()

    def close(self) -> None:
        if self._handles:
            self._handles.close()

    def do(self, number: int) -> tuple[dict[int, bytes], dict[int, dict[bytes, bytes]]]:
        """The digests and attributes of one share."""
        if self._handles is None:
            self._handles, self._buffer = self._scanned.handles(), read_buffer()
        digests: dict[int, bytes] = {}
        xattrs: dict[int, dict[bytes, bytes]] = {}
        for entry in self._shares[number]:
            try:
                found = self._read(self._handles, entry)
            except OSError:
                continue
            if found:
                digests[entry], attributes = found
                if attributes:
                    xattrs[entry] = attributes
        return digests, xattrs

    def _read(
        self, handles: DirectoryHandles, entry: int
    ) -> tuple[bytes, dict[bytes, bytes]] | None:
        scanned = self._scanned
        directory = handles.get(scanned.group_of(entry))
        descriptor = os.open(scanned.names[entry], OPEN_FILE, dir_fd=directory)
        try:
            digest = digest_of_file(descriptor, self._seed, self._buffer)
            xattrs = read_xattrs(descriptor)
            # Last: whoever wrote to the file while it was read has changed its change time.
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        seen = after.st_ino, after.st_ctime_ns, after.st_size
        as_scanned = scanned.inode[entry], scanned.ctime_ns[entry], scanned.size[entry]
        return (digest, xattrs) if seen == as_scanned else None
