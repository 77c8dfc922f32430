"""What archives were seen to hold where, so that it is not read again for another snapshot.

An archive that was read and matches its own index holds what that index lists. One of which only a part is left has
no index: while it is read, its content is compared with what snapshots list there.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Collection, Iterator
from itertools import starmap

import msgspec

from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.archive_file import open_index, open_regular, read_footer
from scratchflow.archive.read.archives import OpenArchive
from scratchflow.archive.read.chunk_check import ChunkCheck, PlacedChunk, own_chunks, placed_chunks
from scratchflow.archive.tree.index import ArchiveFrames, Index
from scratchflow.model.errors.base import ScratchflowError

Key = bytes  # position, length and digest of a content: takes half of the memory of a tuple

_PLACE = struct.Struct("<QQ")
_NOTHING: frozenset[Key] = frozenset()


class _Held(msgspec.Struct, frozen=True):
    """What an archive holds, for whoever has the same frames and seed."""

    frames: ArchiveFrames
    seed: int
    contents: Collection[Key]


class Left(msgspec.Struct, frozen=True):
    """What snapshots list in an archive of which only a part is left, and whether it was seen there."""

    frames: ArchiveFrames
    check: ChunkCheck


class Proven:
    """Archives that were read and are sound."""

    def __init__(self, open_archive: OpenArchive, archives: Collection[str] = ()) -> None:
        self._open_archive = open_archive
        self._archives = set(archives)
        self._held: dict[str, _Held | None] = {}
        self._left: dict[str, Left] = {}
        self._alone: set[str] = set()

    def expect(self, index: Index, archives: Collection[str]) -> None:
        """Notes what a snapshot lists in these, which are still to be read and of which only a part is left."""
        for number, frames in enumerate(index.archives):
            if frames.id not in archives:
                continue
            left = self._left.setdefault(frames.id, Left(frames, ChunkCheck(index.seed)))
            if left.check.seed == index.seed and left.frames.raw_ends == frames.raw_ends:
                left.check.add(_whole_files(index, number))
                left.check.add(own_chunks(index, number))

    def left(self, archive: str) -> ChunkCheck | None:
        """What has to pass by when this archive is read, if anybody expects anything of it."""
        left = self._left.get(archive)
        return left.check if left else None

    def add(self, archive: str) -> None:
        """This one was read and is sound."""
        self._archives.add(archive)

    def note(self, archive: str, index: Index) -> None:
        """This is the index of an archive that is about to be read."""
        if not index.needs and not any(map(index.is_scattered, index.chunks)):
            self._alone.add(archive)

    def stands_alone(self, archive: str) -> bool:
        """Whether its snapshot needs nothing that was not seen when the archive itself was read."""
        return archive in self._alone and archive in self._archives

    def checker(self, index: Index) -> Callable[[int], bool]:
        """A function that says of a file of this index whether all of it was seen."""
        known: dict[int, Collection[Key]] = {}

        def holds(number: int, content: PlacedChunk) -> bool:
            if number not in known:
                known[number] = self._contents(index.archives[number], index.seed)
            return _key(content) in known[number]

        def is_seen(entry: int) -> bool:
            if not index.is_scattered(entry) and holds(index.archive[entry], _file(index, entry)):
                return True
            return entry in index.chunks and all(starmap(holds, placed_chunks(index, entry)))

        return is_seen

    def _contents(self, frames: ArchiveFrames, seed: int) -> Collection[Key]:
        if frames.id not in self._archives:
            return _NOTHING
        if frames.id not in self._held:
            self._held[frames.id] = self._listed(frames.id)
        held = self._held[frames.id]
        if held is None or held.seed != seed or held.frames.raw_ends != frames.raw_ends:
            return _NOTHING
        is_whole = frames.id not in self._left
        if is_whole and held.frames.packed_ends != frames.packed_ends:
            return _NOTHING
        return held.contents

    def _listed(self, archive: str) -> _Held | None:
        left = self._left.get(archive)
        if left:
            return _Held(left.frames, left.check.seed, set(map(_key, left.check.seen())))
        try:
            index = open_index(self._open_archive(archive))
        except ScratchflowError:
            return None
        own = [number for number, one in enumerate(index.archives) if one.id == archive]
        if index.id != archive or len(own) != 1:
            return None
        contents = set(map(_key, _files(index, own[0])))
        contents.update(map(_key, own_chunks(index, own[0])))
        return _Held(index.archives[own[0]], index.seed, contents)


def is_left(archive: str, open_archive: OpenArchive) -> bool:
    """Whether only a part of this archive is left; False when that cannot be told."""
    try:
        descriptor = open_regular(open_archive(archive))
    except (Malformed, OSError):
        return False
    try:
        return read_footer(descriptor).is_remnant
    except (Malformed, OSError):
        return False
    finally:
        os.close(descriptor)


def _files(index: Index, number: int) -> Iterator[PlacedChunk]:
    """Every file that lies in one piece in an archive; of one with holes the length is that of all."""
    for entry in index.regular_files():
        if index.archive[entry] == number:
            yield _file(index, entry)


def _whole_files(index: Index, number: int) -> Iterator[PlacedChunk]:
    """Those of them whose stored bytes are what their digest is of."""
    for entry in index.regular_files():
        if index.archive[entry] == number and index.size[entry] and entry not in index.sparse:
            yield _file(index, entry)


def _file(index: Index, entry: int) -> PlacedChunk:
    return index.position[entry], index.size[entry], index.digest_of(entry)


def _key(content: PlacedChunk) -> Key:
    position, length, digest = content
    return _PLACE.pack(position, length) + digest
