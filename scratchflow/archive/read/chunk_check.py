"""Compares the chunks that an archive holds with their digests, while its tar stream passes by."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from scratchflow.archive.files.digest import StreamDigest
from scratchflow.archive.tree.index import DIGEST_BYTES, Index

PlacedChunk = tuple[int, int, bytes]  # position in the tar stream, length, digest


def placed_chunks(index: Index, entry: int) -> Iterator[tuple[int, PlacedChunk]]:
    """Every chunk of a file with the number of the archive that it lies in."""
    chunks = index.chunks[entry]
    for part, digest in zip(chunks.each(), chunks.each_digest(DIGEST_BYTES), strict=True):
        number, position, length = part
        yield number, (position, length, digest)


def own_chunks(index: Index, own: int) -> set[PlacedChunk]:
    """All chunks that lie in the archive with this number."""
    return {
        chunk
        for entry in index.chunks
        for number, chunk in placed_chunks(index, entry)
        if number == own
    }


class ChunkCheck:
    """The chunks of one archive; `unseen` are those whose right bytes have not passed by."""

    def __init__(self, index: Index, own: int) -> None:
        self._seed = index.seed
        self._chunks = sorted(own_chunks(index, own))
        self.unseen = set(self._chunks)

    def watch(self, pieces: Iterator[memoryview], position: int) -> Iterator[memoryview]:
        """The same pieces, which begin at this position, while their chunks are compared."""
        coming = iter(self._chunks[bisect_left(self._chunks, (position, 0, b"")) :])
        chunk = next(coming, None)
        digest = StreamDigest(seed=self._seed)
        for piece in pieces:
            end = position + len(piece)
            while chunk and chunk[0] < end:
                first, last = max(chunk[0], position), min(chunk[0] + chunk[1], end)
                digest.update(piece[first - position : last - position])
                if last < chunk[0] + chunk[1]:
                    break  # the rest of it is in the next piece
                if digest.digest() == chunk[2]:
                    self.unseen.discard(chunk)
                chunk = next(coming, None)
                digest.reset()
            position = end
            yield piece
