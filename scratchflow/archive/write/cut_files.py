"""Large files of a backup, cut into chunks by processes of their own while others are stored.

The cutting holds the interpreter's lock: here it would stop everything else. What the processes find
is never needed, only welcome: a file that one of them could not do, or died over, is cut by the one
who asked, and one that cannot be cut is stored whole.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from scratchflow.archive.files.chunker import CutFile, cut_file
from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.files.holes import data_extents
from scratchflow.archive.scan.reread import OPEN_FILE
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.workers.fork import end_helper, fork_helper
from scratchflow.archive.workers.queue import MAX_SHARES, Shares

_LENGTH = struct.Struct("<Q")  # of the message that follows

Stamps = tuple[int, int, int, int]


class Cut(msgspec.Struct, frozen=True):
    """The chunks of a file, and what it was when it was read."""

    stamps: Stamps
    file: CutFile


def stamps_of(stats: os.stat_result) -> Stamps:
    """What changes when somebody writes to a file, or puts another one in its place."""
    return stats.st_ino, stats.st_size, stats.st_mtime_ns, stats.st_ctime_ns


class CutFiles:
    """Cuts these files of a tree, with up to `count` processes; `close` leaves none behind."""

    def __init__(self, scanned: ScannedTree, seed: int, entries: Sequence[int], count: int) -> None:
        self.entries = frozenset(entries)
        self._reading = _Reading(scanned, seed)
        each = max(1, -(-len(entries) // MAX_SHARES))
        self._batches = [entries[at : at + each] for at in range(0, len(entries), each)]
        self._found: dict[int, Cut | None] = {}
        self._children: dict[int, int] = {}  # what one is heard through -> process
        self._poll = select.poll()
        self._shares = Shares(len(self._batches))
        if sys.platform == "linux":
            try:
                for _ in range(min(count, len(self._batches))):
                    self._fork()
            except OSError:  # no more processes allowed: those there are will do
                return
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> CutFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def processes(self) -> list[int]:
        """Those that are at work."""
        return list(self._children.values())

    def close(self) -> None:
        """Ends all of them. May be called twice."""
        for reading in list(self._children):
            self._bury(reading)
        self._shares.close()
        self._reading.close()

    def get(self, entry: int) -> Cut | None:
        """The chunks of one of the files, after a while; None when it cannot be cut."""
        while entry not in self._found and self._children:
            for reading, _ in self._poll.poll():
                self._hear(reading)
        if entry not in self._found:
            self._found[entry] = self._reading.cut(entry)
        return self._found[entry]

    def _hear(self, reading: int) -> None:
        size = _receive(reading, _LENGTH.size)
        content = _receive(reading, _LENGTH.unpack(size)[0]) if size else None
        if content is None:
            self._bury(reading)
            return
        entry, found = marshal.loads(content)  # noqa: S302 - our own process's
        self._found[entry] = _from_plain(found)

    def _bury(self, reading: int) -> None:
        end_helper(self._children[reading])
        del self._children[reading]
        self._poll.unregister(reading)
        os.close(reading)

    def _fork(self) -> None:
        asker = os.getpid()
        reading, writing = os.pipe()
        kept = self._shares.descriptor, writing
        try:
            process = fork_helper(lambda: self._help(asker, writing), kept)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._children[reading] = process
        self._poll.register(reading, select.POLLIN)

    def _help(self, asker: int, writing: int) -> None:
        gc.disable()  # it makes no cycles, and must not touch, and so copy, what it shares

        def check() -> None:
            # Somebody else is the parent when the one who asked is gone.
            if os.getppid() != asker:
                os._exit(1)

        while (batch := self._shares.take()) is not None:
            for entry in self._batches[batch]:
                found = self._reading.cut(entry, check)
                content = marshal.dumps((entry, _as_plain(found)))
                view = memoryview(_LENGTH.pack(len(content)) + content)
                while view:
                    view = view[os.write(writing, view) :]


class _Reading:
    """Opens and cuts files; what it opens belongs to the process that asks first."""

    def __init__(self, scanned: ScannedTree, seed: int) -> None:
        self._scanned = scanned
        self._seed = seed
        self._handles: DirectoryHandles | None = None

    def close(self) -> None:
        if self._handles:
            self._handles.close()
            self._handles = None

    def cut(self, entry: int, check: Callable[[], None] = lambda: None) -> Cut | None:
        """None when it cannot be read, has holes, or was written to meanwhile."""
        scanned = self._scanned
        try:
            self._handles = self._handles or scanned.handles()
            directory = self._handles.get(scanned.group_of(entry))
            descriptor = os.open(scanned.names[entry], OPEN_FILE, dir_fd=directory)
        except OSError:
            return None
        try:
            return self._cut_open(descriptor, check)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _cut_open(self, descriptor: int, check: Callable[[], None]) -> Cut | None:
        before = os.fstat(descriptor)
        if data_extents(descriptor, before) is not None:
            return None
        found = cut_file(descriptor, before.st_size, self._seed, check=check)
        if found is None or not found.lengths:
            return None
        stamps = stamps_of(before)
        return Cut(stamps, found) if stamps == stamps_of(os.fstat(descriptor)) else None


def _as_plain(cut: Cut | None) -> Any:
    """In types that `marshal` takes."""
    if cut is None:
        return None
    return cut.stamps, cut.file.lengths.tobytes(), cut.file.digests, cut.file.digest


def _from_plain(plain: Any) -> Cut | None:
    if plain is None:
        return None
    stamps, lengths, digests, digest = plain
    return Cut(stamps, CutFile(array("I", lengths), digests, digest))


def _receive(descriptor: int, count: int) -> bytes | None:
    """Exactly so many bytes; None when the other end is gone."""
    content = bytearray()
    while len(content) < count:
        piece = os.read(descriptor, count - len(content))
        if not piece:
            return None
        content += piece
    return bytes(content)
