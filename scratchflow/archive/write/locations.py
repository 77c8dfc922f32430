"""Where the content of members went, as noted while they were written."""

from __future__ import annotations

from typing import Any

from scratchflow.archive.tree.chunks import Chunks
from scratchflow.archive.tree.index import DIGEST_BYTES, NOWHERE, Index


class MemberNotes:
    """Some members: how many, and for those with content its place in the tar stream and digest."""

    def __init__(self) -> None:
        self.members = 0
        self.files = 0
        self.bytes = 0
        self.entries: list[int] = []
        self.positions: list[int] = []
        self.digests: list[bytes] = []
        self.xattrs: dict[int, dict[bytes, bytes]] = {}
        self.sparse: dict[int, list[int]] = {}
        self.chunks: dict[int, tuple[Chunks, bytes]] = {}  # with the digest of the whole file

    def add(self, entry: int, position: int, digest: bytes) -> None:
        """A member with content."""
        self.entries.append(entry)
        self.positions.append(position)
        self.digests.append(digest)
        self.members += 1

    def columns(self) -> tuple[Any, ...]:
        """All of it in plain types, for another process; `of` makes notes of it again.

        But for chunks: large files are stored by the process that writes.
        """
        counts = (self.members, self.files, self.bytes)
        places = (self.entries, self.positions, self.digests)
        return (counts, places, self.xattrs, self.sparse)

    @classmethod
    def of(cls, columns: tuple[Any, ...]) -> MemberNotes:
        """What `columns` said."""
        notes = cls()
        counts, places, notes.xattrs, notes.sparse = columns
        notes.members, notes.files, notes.bytes = counts
        notes.entries, notes.positions, notes.digests = places
        return notes

    def enter(self, index: Index, archive_number: int, base: int) -> None:
        """Enters the places into the index; positions count from `base`."""
        digests = index.digest
        assert isinstance(digests, bytearray)  # noqa: S101 - an index under construction
        archive, positions = index.archive, index.position
        places = zip(self.entries, self.positions, self.digests, strict=True)
        for entry, position, digest in places:
            archive[entry] = archive_number
            positions[entry] = base + position
            digests[entry * DIGEST_BYTES : (entry + 1) * DIGEST_BYTES] = digest
        for entry, (chunks, digest) in self.chunks.items():
            archive[entry], positions[entry] = chunks.place() or (NOWHERE, 0)
            digests[entry * DIGEST_BYTES : (entry + 1) * DIGEST_BYTES] = digest
            index.chunks[entry] = chunks
        index.xattrs.update(self.xattrs)
        index.sparse.update(self.sparse)
