"""The chunks of a large file: how long each is, what it hashes to, and where it lies."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate

import msgspec

# A smaller file is stored whole: its compressed size is what a few changed chunks would take.
MIN_CHUNKED_BYTES = 8 << 20

Part = tuple[int, int, int]  # archive number, position in its tar stream, length


class Chunks(msgspec.Struct):
    """One file's stored content in chunks, in order; a value a chunk in each column."""

    lengths: array[int] = msgspec.field(default_factory=lambda: array("I"))
    archive: array[int] = msgspec.field(default_factory=lambda: array("H"))
    position: array[int] = msgspec.field(default_factory=lambda: array("Q"))
    digests: bytes | bytearray = b""  # 16 bytes each

    def __len__(self) -> int:
        return len(self.lengths)

    def place(self) -> tuple[int, int] | None:
        """Archive and position of the whole content; None when it does not lie in one piece."""
        if len(set(self.archive)) != 1:
            return None
        first = self.position[0]
        starts = accumulate(self.lengths[:-1], initial=first)
        if not all(map(int.__eq__, self.position, starts)):
            return None
        return self.archive[0], first

    def parts(self) -> list[Part]:
        """Where the content lies; chunks that follow each other there are one part."""
        found: list[Part] = []
        number, start, end = -1, 0, 0
        for archive, position, length in self.each():
            if archive == number and position == end:
                end += length
                continue
            if number >= 0:
                found.append((number, start, end - start))
            number, start, end = archive, position, position + length
        if number >= 0:
            found.append((number, start, end - start))
        return found

    def each(self) -> Iterator[Part]:
        """The place of every chunk."""
        return zip(self.archive, self.position, self.lengths, strict=True)

    def each_digest(self, width: int) -> Iterator[bytes]:
        """The digest of every chunk."""
        digests = bytes(self.digests)
        return (digests[at : at + width] for at in range(0, len(digests), width))

    def renumbered(self, numbers: dict[int, int]) -> Chunks:
        """The same chunks in archives that have other numbers now."""
        archive = array("H", map(numbers.__getitem__, self.archive))
        return Chunks(self.lengths, archive, self.position, self.digests)


class OlderFile(msgspec.Struct, frozen=True):
    """A large file on disk that may have many of the wanted bytes: its chunks, and the very file."""

    chunks: Chunks
    inode: int
    ctime_ns: int


def in_one_piece(
    lengths: array[int], digests: bytes | bytearray, number: int, position: int
) -> Chunks:
    """Chunks that follow each other in one archive from a position on."""
    starts: Iterable[int] = accumulate(lengths[:-1], initial=position)
    return Chunks(lengths, array("H", [number]) * len(lengths), array("Q", starts), digests)
