"""Single values of an index, for whoever asks about one path only.

Columns that are not needed stay packed, and of the names only those on the way to the path are taken apart: a fifth
of the work of loading an index. What is found is to be shown: it was not checked as a restore needs it.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from itertools import accumulate

from scratchflow.archive.format.index_codec import read_header, unpack_piece, unshuffled
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.tree.index import DIGEST_BYTES
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, SYMLINK, Tree

_BLOCK_BYTES = 8 << 10


class IndexPeek:
    """An index whose bytes are as they were written; Malformed when they are not."""

    def __init__(self, region: bytes, sha256: bytes) -> None:
        header, contents = read_header(region, sha256)
        self.id = header.id
        self.seed = header.seed
        self._header = header
        self._packed: dict[str, list[tuple[int, memoryview]]] = {}
        for (name, raw_bytes), packed in zip(header.pieces, contents, strict=True):
            self._packed.setdefault(name, []).append((raw_bytes, packed))
        self._names = _Names(self._whole("names", 1))
        self._tree = Tree()
        self._tree.mode = self._column("H", "mode", header.entries)
        self._tree.children = self._column("I", "children", header.groups)
        self._tree.connect()
        links = self._column("I", "links", 2 * header.hardlinks)
        self.hardlinks = dict(zip(links[::2], links[1::2], strict=True))

    def find(self, path: bytes) -> int | None:
        """The entry at this path, or None."""
        tree, group, entry = self._tree, 0, None
        for name in path.split(b"/"):
            if entry is not None:
                if tree.mode[entry] & KIND_MASK != DIRECTORY:
                    return None
                group = tree.group_at(entry)
            first, end = tree.first[group], tree.first[group + 1]
            names = self._names.between(first, end)
            at = bisect_left(names, name)
            if at == len(names) or names[at] != name:
                return None
            entry = first + at
        return entry

    def mode(self, entry: int) -> int:
        """Kind and permissions."""
        return self._tree.mode[entry]

    def size(self, entry: int) -> int:
        """In bytes."""
        return self._number("Q", "size", entry)

    def mtime_ns(self, entry: int) -> int:
        """When it was changed last."""
        return self._number("q", "mtime_ns", entry)

    def digest(self, entry: int) -> bytes:
        """What the content of a regular file hashes to."""
        start = entry * DIGEST_BYTES
        return self._whole("digest", 1)[start : start + DIGEST_BYTES]

    def target(self, entry: int) -> bytes:
        """Where a symlink leads."""
        number = bisect_left(self._tree.of_kind(SYMLINK), entry)
        return _Names(self._whole("targets", 1)).between(number, number + 1)[0]

    def _whole(self, name: str, width: int) -> bytes:
        pieces = self._packed.get(name, [])
        return b"".join(
            unshuffled(unpack_piece(packed, raw_bytes), width) for raw_bytes, packed in pieces
        )

    def _column(self, kind: str, name: str, count: int) -> array[int]:
        column: array[int] = array(kind)
        column.frombytes(self._whole(name, column.itemsize))
        if len(column) != count:
            raise Malformed(f"the index has a wrong number of values in `{name}`")
        if sys.byteorder == "big":
            column.byteswap()
        return column

    def _number(self, kind: str, name: str, number: int) -> int:
        """One value of a column; only the piece that holds it is unpacked."""
        width = array(kind).itemsize
        for raw_bytes, packed in self._packed.get(name, []):
            count = raw_bytes // width
            if number < count:
                piece = unpack_piece(packed, raw_bytes)
                return int.from_bytes(piece[number::count], "little", signed=kind == "q")
            number -= count
        raise Malformed(f"the index has a wrong number of values in `{name}`")


class _Names:
    """Names that each end in NUL: how many end in each block is counted, so that one is found by its number."""

    def __init__(self, blob: bytes) -> None:
        blocks = range(0, len(blob), _BLOCK_BYTES)
        self._blob = blob
        self._ended = list(
            accumulate(blob.count(b"\0", start, start + _BLOCK_BYTES) for start in blocks)
        )

    def between(self, first: int, end: int) -> list[bytes]:
        """Those from `first` up to, not including, `end`."""
        if first == end:
            return []
        return self._blob[self._start(first) : self._start(end) - 1].split(b"\0")

    def _start(self, number: int) -> int:
        if not number:
            return 0
        block = bisect_left(self._ended, number)
        if block == len(self._ended):
            raise Malformed("a table of names does not hold the names it counts")
        at = block * _BLOCK_BYTES
        for _ in range(number - (self._ended[block - 1] if block else 0)):
            at = self._blob.index(b"\0", at) + 1
        return at
