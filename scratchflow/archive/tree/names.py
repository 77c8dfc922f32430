"""Byte strings without NUL, packed into one buffer: a million names cost what their bytes cost."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate, repeat
from operator import add

from scratchflow.archive.malformed import Malformed

_CHUNK_BYTES = 1 << 20


class PackedNames:
    """A sequence of byte strings in `blob`, each followed by NUL; `starts[i]` is where one begins."""

    __slots__ = ("blob", "starts")

    def __init__(self, names: Iterable[bytes] = ()) -> None:
        self.blob: bytearray | bytes = bytearray()
        self.starts = array("I", [0])
        for name in names:
            self.append(name)

    @classmethod
    def from_blob(cls, blob: bytes, count: int, longest: int | None = None) -> PackedNames:
        """Takes over a blob read from disk; Malformed says why it cannot be one."""
        if blob.count(b"\0") != count or not (blob.endswith(b"\0") if count else blob == b""):
            raise Malformed("a table of names does not hold the names it counts")
        names = cls()
        names.blob = blob
        position = 0
        while position < len(blob):
            end = blob.find(b"\0", min(position + _CHUNK_BYTES, len(blob) - 1)) + 1
            sizes = [len(name) + 1 for name in blob[position : end - 1].split(b"\0")]
            if longest is not None and max(sizes) > longest + 1:
                raise Malformed("a table of names holds one longer than a file system allows")
            names.starts.pop()  # `accumulate` gives where this piece begins once more
            names.starts.extend(accumulate(sizes, initial=position))
            position = end
        return names

    def append(self, name: bytes) -> None:
        """Adds one name at the end."""
        self.blob += name
        self.blob += b"\0"
        self.starts.append(len(self.blob))

    def extend(self, names: list[bytes]) -> None:
        """Adds many names at once."""
        if names:
            position = len(self.blob)
            self.blob += b"\0".join(names) + b"\0"
            lengths = [len(name) + 1 for name in names]
            lengths[0] += position
            self.starts.extend(accumulate(lengths))

    def extend_packed(self, names: PackedNames) -> None:
        """Adds all of another's names."""
        position = len(self.blob)
        self.blob += names.blob
        self.starts.extend(map(add, names.starts[1:], repeat(position)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> bytes:
        return bytes(self.blob[self.starts[number] : self.starts[number + 1] - 1])

    def __iter__(self) -> Iterator[bytes]:
        return (self[number] for number in range(len(self)))

    def slice(self, first: int, end: int) -> list[bytes]:
        """The names from `first` up to, not including, `end`."""
        if first == end:
            return []
        return bytes(self.blob[self.starts[first] : self.starts[end] - 1]).split(b"\0")

    def packed(self, first: int, end: int) -> bytes | bytearray:
        """The same as one byte string: equal exactly when the names are."""
        return self.blob[self.starts[first] : self.starts[end]]
