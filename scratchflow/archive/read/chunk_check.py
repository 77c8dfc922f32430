"""Compares chunks, and other contents of an archive, with their digests while its tar stream passes by."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

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
    """Contents that an archive should hold; `unseen` are those whose right bytes have not passed by."""

    def __init__(self, seed: int, chunks: Iterable[PlacedChunk] = ()) -> None:
        self.seed = seed
        self.unseen = set(chunks)
        self._chunks: list[PlacedChunk] | None = None

    def add(self, chunks: Iterable[PlacedChunk]) -> None:
        """These should be there as well. They may overlap others."""
        self.unseen.update(chunks)

    def seen(self) -> Iterator[PlacedChunk]:
        """Those whose right bytes have passed by."""
        return (chunk for chunk in self._in_order() if chunk not in self.unseen)

    def watch(self, pieces: Iterator[memoryview], position: int) -> Iterator[memoryview]:
        """The same pieces, which begin at this position, while their chunks are compared."""
        chunks = self._in_order()
        coming = bisect_left(chunks, (position, 0, b""))
        begun: list[tuple[PlacedChunk, StreamDigest]] = []
        for piece in pieces:
            end = position + len(piece)
            while coming < len(chunks) and chunks[coming][0] < end:
                begun.append((chunks[coming], StreamDigest(seed=self.seed)))
                coming += 1
            unfinished = []
            for chunk, digest in begun:
                start, length, expected = chunk
                digest.update(piece[max(start - position, 0) : start + length - position])
                if start + length > end:
                    unfinished.append((chunk, digest))
                elif digest.digest() == expected:
                    self.unseen.discard(chunk)
            begun, position = unfinished, end
            yield piece

    def _in_order(self) -> list[PlacedChunk]:
        if self._chunks is None:  # all of them, before the first passes by
            self._chunks = sorted(self.unseen)
        return self._chunks

    def are_seen(self, start: int, end: int) -> bool:
        """Whether the right bytes have passed by of all that begin there."""
        chunks = self._in_order()
        first, last = (bisect_left(chunks, (at, 0, b"")) for at in (start, end))
        return self.unseen.isdisjoint(chunks[first:last])
