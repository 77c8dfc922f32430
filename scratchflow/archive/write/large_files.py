"""Which chunks of large files a backup need not store, because an archive holds them already."""

from __future__ import annotations

import os
from itertools import accumulate

from scratchflow.archive.compare.plan import Plan
from scratchflow.archive.files.chunker import ContentCutter, Window
from scratchflow.archive.tree.chunks import Chunks, Part, in_one_piece
from scratchflow.archive.tree.index import DIGEST_BYTES, Index
from scratchflow.archive.write.windows import LargeFile


class KnownChunks:
    """Where chunks lie that may be referred to: in the parent's archives, and in the one that is written."""

    def __init__(self, parent: Index | None) -> None:
        self._places: dict[bytes, Part] = {}
        if parent is not None:
            for chunks in parent.chunks.values():
                self.note(chunks)

    def __bool__(self) -> bool:
        return bool(self._places)

    def note(self, chunks: Chunks) -> None:
        """These can be referred to as well."""
        for digest, part in zip(chunks.each_digest(DIGEST_BYTES), chunks.each(), strict=True):
            self._places.setdefault(digest, part)

    def find(self, digest: bytes, length: int) -> Part | None:
        """Where this chunk lies."""
        part = self._places.get(digest)
        return part if part is not None and part[2] == length else None


class NewFile:
    """A file whose chunks are stored, or referred to, window by window."""

    def __init__(self, known: KnownChunks, own: int) -> None:
        self.chunks = Chunks(digests=bytearray())
        self._known = known
        self._own = own
        self._stored: dict[bytes, Part] = {}  # chunks of this very file

    def new_in(self, window: Window) -> list[tuple[int, int, bytes]]:
        """What has to be stored of a window: where in it, length and digest, each chunk once."""
        found: dict[bytes, tuple[int, int, bytes]] = {}
        starts = accumulate(window.lengths, initial=0)
        for start, length, digest in zip(starts, window.lengths, _each(window), strict=False):
            if self._find(digest, length) is None:
                found.setdefault(digest, (start, length, digest))
        return list(found.values())

    def add(self, window: Window, new: list[tuple[int, int, bytes]], position: int) -> None:
        """The window's new chunks lie one after the other from this position on."""
        for _, length, digest in new:
            self._stored[digest] = (self._own, position, length)
            position += length
        parts = [self._found(*one) for one in zip(_each(window), window.lengths, strict=True)]
        numbers, positions, _ = zip(*parts, strict=True)
        self.chunks.archive.extend(numbers)
        self.chunks.position.extend(positions)
        self.chunks.lengths.extend(window.lengths)
        self.chunks.digests += window.digests

    def _find(self, digest: bytes, length: int) -> Part | None:
        part = self._stored.get(digest)
        if part is not None and part[2] == length:
            return part
        return self._known.find(digest, length)

    def _found(self, digest: bytes, length: int) -> Part:
        part = self._find(digest, length)
        assert part is not None  # noqa: S101 - it was known, or has just been stored
        return part


class LargeFiles:
    """The large files of a backup, and what is known of their chunks.

    A full archive refers to nothing: it has its files whole, and only lists their chunks.
    """

    def __init__(self, plan: Plan, entries: list[int], own: int) -> None:
        """`own` is the number of the archive that is written."""
        self._entries = frozenset(entries)
        self._refers = not plan.full
        self._known = KnownChunks(plan.parent if self._refers else None)
        self._own = own
        self._seed = plan.seed

    def __contains__(self, entry: int) -> bool:
        return entry in self._entries

    def new_file(self) -> NewFile | None:
        """For the next file, if it may refer to any chunks."""
        return NewFile(self._known, self._own) if self._refers and self._known else None

    def windows_of(self, descriptor: int, stats: os.stat_result) -> LargeFile:
        """An open file, to be read and cut."""
        return LargeFile(descriptor, stats, self._seed)

    def cutter(self) -> ContentCutter:
        """Cuts a file that is stored whole, while its content passes by."""
        return ContentCutter(self._seed)

    def note(self, chunks: Chunks) -> None:
        """Later files may refer to these chunks of one that was stored."""
        if self._refers:
            self._known.note(chunks)

    def in_one_piece(self, cutter: ContentCutter, position: int) -> Chunks:
        """The chunks of a file that was stored whole, from this position on."""
        cutter.finish()
        chunks = in_one_piece(cutter.lengths, cutter.digests, self._own, position)
        self.note(chunks)
        return chunks


def _each(window: Window) -> list[bytes]:
    digests = window.digests
    return [digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES)]
