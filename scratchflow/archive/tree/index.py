"""An index: every live path of a snapshot, and which archive holds its bytes and where."""

from __future__ import annotations

from array import array
from bisect import bisect_right

import msgspec

from scratchflow.archive.tree.chunks import Chunks, Part
from scratchflow.archive.tree.tree import Tree

DIGEST_BYTES = 16
NO_DIGEST = bytes(DIGEST_BYTES)
# The content was still moving when it was read: the next backup reads it again.
RECHECK = 1
NOWHERE = 0xFFFF  # the archive number of entries that have no bytes anywhere


class ArchiveFrames(msgspec.Struct):
    """An archive that an index reads from: its id, and where its data frames lie."""

    id: str
    raw_ends: array[int] = msgspec.field(default_factory=lambda: array("Q"))  # in the tar stream
    packed_ends: array[int] = msgspec.field(default_factory=lambda: array("Q"))  # in the file

    def frame_at(self, position: int) -> int:
        """The frame that holds a position of the tar stream."""
        return bisect_right(self.raw_ends, position)

    def raw_start(self, frame: int) -> int:
        """Where a frame begins in the tar stream."""
        return self.raw_ends[frame - 1] if frame else 0

    def packed_start(self, frame: int) -> int:
        """Where a frame begins in the file."""
        return self.packed_ends[frame - 1] if frame else 0


class ArchiveUse(msgspec.Struct, frozen=True):
    """How much of an archive a snapshot still needs."""

    id: str
    live_bytes: int
    stored_bytes: int


class Index(Tree):
    """A tree whose entries know where their bytes are. `id` is the archive it was written with."""

    def __init__(self, archive_id: str) -> None:
        super().__init__()
        self.id = archive_id
        self.flags = array("B")
        self.archive = array("H")  # number in `archives`, or NOWHERE
        self.position = array("Q")  # of the content in that archive's tar stream
        self.digest: bytearray | bytes = bytearray()  # DIGEST_BYTES an entry
        self.archives: list[ArchiveFrames] = []
        self.sparse: dict[int, list[int]] = {}  # entry -> offset, length, offset, length, …
        self.xattrs: dict[int, dict[bytes, bytes]] = {}
        self.chunks: dict[int, Chunks] = {}  # entry -> its stored content, cut into chunks
        self.seed = 0  # of the digests; secret, so that nobody can craft two files that match
        self.members = 0  # how many tar members the archive of this index has

    @property
    def needs(self) -> list[str]:
        """Ids of the other archives that this snapshot reads from."""
        used = self.used_archives()
        return [
            archive.id
            for number, archive in enumerate(self.archives)
            if number in used and archive.id != self.id
        ]

    def used_archives(self) -> set[int]:
        """The numbers of the archives that any file's bytes lie in."""
        used = set(self.archive) - {NOWHERE}
        return used.union(*(chunks.archive for chunks in self.chunks.values()))

    def is_scattered(self, entry: int) -> bool:
        """Whether a file's bytes lie in several places, which only its chunks name."""
        return entry in self.chunks and self.archive[entry] == NOWHERE

    def digest_of(self, entry: int) -> bytes:
        """What the content of a regular file hashes to."""
        return bytes(self.digest[entry * DIGEST_BYTES : (entry + 1) * DIGEST_BYTES])

    def stored_size(self, entry: int) -> int:
        """How many bytes of the tar stream a file takes: its size, or less when it has holes."""
        extents = self.sparse.get(entry)
        return self.size[entry] if extents is None else sum(extents[1::2])

    def parts(self, entry: int) -> list[Part]:
        """Where the stored bytes of a file lie, in their order; none when it has none."""
        if self.is_scattered(entry):
            return self.chunks[entry].parts()
        stored = self.stored_size(entry)
        return [(self.archive[entry], self.position[entry], stored)] if stored else []

    def place(self, entry: int) -> list[tuple[str, int, int]]:
        """The same with the ids of the archives: equal in two indexes when the bytes are the same."""
        return [(self.archives[number].id, at, size) for number, at, size in self.parts(entry)]

    def uses(self) -> list[ArchiveUse]:
        """For each archive read from: live and stored bytes of its tar stream."""
        live = [0] * len(self.archives)
        for entry, number in enumerate(self.archive):
            if number != NOWHERE and entry not in self.hardlinks:
                live[number] += 512 + (self.stored_size(entry) + 511) // 512 * 512
        for number, _, length in self._scattered_chunks():
            live[number] += length
        stored = [archive.raw_ends[-1] if archive.raw_ends else 0 for archive in self.archives]
        # Content that two paths share is counted twice above, hence the cap.
        return [
            ArchiveUse(archive.id, min(live[number], stored[number]), stored[number])
            for number, archive in enumerate(self.archives)
        ]

    def _scattered_chunks(self) -> set[Part]:
        """The places of all chunks of files that lie in several places, each place once."""
        return {
            part
            for entry, chunks in self.chunks.items()
            if self.archive[entry] == NOWHERE
            for part in chunks.each()
        }
