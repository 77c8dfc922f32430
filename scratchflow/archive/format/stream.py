"""A stream of bytes that comes in pieces of any size, read in amounts of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scratchflow.archive.malformed import Malformed


class PieceReader:
    """Reads exactly as much as asked for; Malformed when the stream ends before that."""

    def __init__(self, pieces: Iterable[bytes | memoryview]) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")
        self.position = 0

    def read(self, count: int) -> bytes:
        """The next `count` bytes as one. For headers: content goes through `pieces`."""
        return b"".join(self.pieces(count))

    def pieces(self, count: int) -> Iterator[memoryview]:
        """The next `count` bytes as they come."""
        while count:
            if not self._rest:
                self._rest = self._next()
            piece = self._rest[:count]
            self._rest = self._rest[len(piece) :]
            self.position += len(piece)
            count -= len(piece)
            yield piece

    def peek(self, count: int) -> memoryview | None:
        """The next `count` bytes as one, which stay to be read; None when there are not so many.

        What lies in two pieces is copied: for a few bytes.
        """
        while len(self._rest) < count:
            rest = bytes(self._rest)  # a piece holds until the next one is asked for
            piece = next(self._pieces, b"")
            self._rest = memoryview(b"".join((rest, piece)) if rest else piece)
            if not piece:
                return None
        return self._rest[:count]

    def skip(self, count: int) -> None:
        """Passes over bytes."""
        for _ in self.pieces(count):
            pass

    def drain(self) -> bool:
        """Reads to the end, so that whatever checks the stream has checked all of it.

        Returns whether there was anything but zeros.
        """
        found = False
        while not self.at_end():
            found = found or bytes(self._rest).count(0) != len(self._rest)
            self.skip(len(self._rest))
        return found

    def at_end(self) -> bool:
        """Whether nothing follows."""
        if not self._rest:
            self._rest = next((memoryview(p) for p in self._pieces if len(p)), memoryview(b""))
        return not self._rest

    def _next(self) -> memoryview:
        for piece in self._pieces:
            if len(piece):
                return memoryview(piece)
        raise Malformed("it is cut short")
