"""Which chunks of large files a backup need not store, because an archive holds them already."""

from __future__ import annotations

import os
from array import array
from itertools import accumulate

import msgspec

from scratchflow.archive.compare.plan import Plan
from scratchflow.archive.files import chunker
from scratchflow.archive.files.chunker import CutFile
from scratchflow.archive.format.tar_headers import CHUNKS_DIRECTORY
from scratchflow.archive.tree.chunks import Chunks, Part, in_one_piece
from scratchflow.archive.tree.index import DIGEST_BYTES, Index
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR
from scratchflow.archive.write.cut_files import CutFiles, stamps_of


def large_files_of(plan: Plan) -> list[int]:
    """The files to be stored that are worth cutting into chunks."""
    scanned = plan.scanned
    # The members that hold chunks must not have the name of a file.
    if any(os.fsencode(root + "/").startswith(CHUNKS_DIRECTORY) for root in scanned.roots):
        return []
    return [
        entry
        for entry in plan.store
        if scanned.size[entry] >= chunker.MIN_CHUNKED_BYTES
        and scanned.mode[entry] & KIND_MASK == REGULAR
        and entry not in scanned.hardlinks
    ]


class NewChunks(msgspec.Struct, frozen=True):
    """A file of which some chunks are known, and the others are to be stored one after the other."""

    file: CutFile
    known: list[Part | None]  # a chunk each; None: it has to be stored
    stretches: list[tuple[int, int, bytes]]  # of those: offset in the file, length, digest


class LargeFiles:
    """The chunks that the parent's archives hold, and those that this archive has so far.

    A full archive refers to nothing: its files are stored whole, and only get their chunks listed.
    """

    def __init__(self, cuts: CutFiles, parent: Index | None, own: int) -> None:
        """`parent` is the index whose archives may be referred to, by the same numbers."""
        self._cuts = cuts
        self._own = own
        self._refers = parent is not None
        self._known: dict[bytes, Part] = {}
        if parent is not None and cuts.entries:
            for chunks in parent.chunks.values():
                self._note(chunks)

    def _note(self, chunks: Chunks) -> None:
        for digest, part in zip(chunks.each_digest(DIGEST_BYTES), chunks.each(), strict=True):
            self._known.setdefault(digest, part)

    def new_chunks(self, entry: int, stats: os.stat_result) -> NewChunks | None:
        """What has to be stored of a file that is like this; None when all of it has to be."""
        if not self._refers or entry not in self._cuts.entries:
            return None
        cut = self._cuts.get(entry)
        if cut is None or cut.stamps != stamps_of(stats):
            return None
        found = self._compared(cut.file)
        return found if len(found.stretches) < len(found.known) else None

    def _compared(self, file: CutFile) -> NewChunks:
        known: list[Part | None] = []
        stretches = []
        seen: set[bytes] = set()
        offset = 0
        for number, length in enumerate(file.lengths):
            digest = file.digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]
            part = self._known.get(digest)
            if part is not None and part[2] != length:
                part = None
            known.append(part)
            if part is None and digest not in seen:
                stretches.append((offset, length, digest))
                seen.add(digest)
            offset += length
        return NewChunks(file, known, stretches)

    def stored(self, new: NewChunks, position: int) -> Chunks:
        """The file's chunks, now that the new ones lie from this position on."""
        ends = accumulate((length for _, length, _ in new.stretches), initial=position)
        here = {
            digest: (self._own, start, length)
            for (_, length, digest), start in zip(new.stretches, ends, strict=False)
        }
        digests = new.file.digests
        parts = [
            part or here[digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]]
            for number, part in enumerate(new.known)
        ]
        numbers, positions, _ = zip(*parts, strict=True)
        chunks = Chunks(
            new.file.lengths, array("H", numbers), array("Q", positions), new.file.digests
        )
        self._note(chunks)
        return chunks

    def stored_whole(self, entry: int, position: int, digest: bytes) -> None:
        """A file lies there in one piece: later files of this archive may refer to its chunks."""
        if self._refers and entry in self._cuts.entries:
            chunks = self._in_one_piece(entry, position, digest)
            if chunks:
                self._note(chunks)

    def list_chunks(self, index: Index) -> None:
        """Enters the chunks of all files that were stored whole."""
        for entry in sorted(self._cuts.entries):
            if index.archive[entry] != self._own or entry in index.chunks or entry in index.sparse:
                continue
            chunks = self._in_one_piece(entry, index.position[entry], index.digest_of(entry))
            if chunks and sum(chunks.lengths) == index.size[entry]:
                index.chunks[entry] = chunks

    def _in_one_piece(self, entry: int, position: int, digest: bytes) -> Chunks | None:
        """The chunks of a file that was stored whole, if it was cut with the very same content."""
        cut = self._cuts.get(entry)
        if cut is None or cut.file.digest != digest:
            return None
        return in_one_piece(cut.file.lengths, cut.file.digests, self._own, position)
