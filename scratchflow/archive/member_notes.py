"""Where the content of members went, as noted while they were written."""

from __future__ import annotations

from array import array
from typing import Any

from scratchflow.archive.index import DIGEST_BYTES, Index


class MemberNotes:
    """Some members: how many, and for those with content its place in the tar stream and digest."""

    def __init__(self) -> None:
        self.members = 0
        self.files = 0
        self.bytes = 0
        self.entries = array("I")
        self.positions = array("Q")
        self.digests = bytearray()
        self.xattrs: dict[int, dict[bytes, bytes]] = {}
        self.sparse: dict[int, list[int]] = {}

    def add(self, entry: int, position: int, digest: bytes) -> None:
        """A member with content."""
        self.entries.append(entry)
        self.positions.append(position)
        self.digests += digest
        self.members += 1

    def columns(self) -> tuple[Any, ...]:
        """All of it in plain types, for another process; `of` makes notes of it again."""
        counts = (self.members, self.files, self.bytes)
        places = (self.entries.tobytes(), self.positions.tobytes(), bytes(self.digests))
        return (counts, places, self.xattrs, self.sparse)

    @classmethod
    def of(cls, columns: tuple[Any, ...]) -> MemberNotes:
        """What `columns` said."""
        notes = cls()
        counts, (entries, positions, digests), notes.xattrs, notes.sparse = columns
        notes.members, notes.files, notes.bytes = counts
        notes.entries.frombytes(entries)
        notes.positions.frombytes(positions)
        notes.digests += digests
        return notes

    def enter(self, index: Index, archive_number: int, base: int) -> None:
        """Tells the index; positions count from `base`."""
        digests = index.digest
        assert isinstance(digests, bytearray)  # noqa: S101 - an index under construction
        archive, positions = index.archive, index.position
        start = 0
        for entry, position in zip(self.entries, self.positions, strict=True):
            archive[entry] = archive_number
            positions[entry] = base + position
            end = start + DIGEST_BYTES
            digests[entry * DIGEST_BYTES : (entry + 1) * DIGEST_BYTES] = self.digests[start:end]
            start = end
        index.xattrs.update(self.xattrs)
        index.sparse.update(self.sparse)
