"""Refuses an index that could make a reader crash, hang or write where it must not."""

from __future__ import annotations

import re
from itertools import compress
from operator import add, eq, ge, le, lt

from scratchflow.archive.files.holes import MAX_HOLE_BYTES
from scratchflow.archive.format.container import MAX_FRAME_BYTES
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.tree.chunks import Chunks
from scratchflow.archive.tree.index import DIGEST_BYTES, NOWHERE, ArchiveFrames, Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK

MAX_FILE_BYTES = (1 << 63) - 1
MAX_CHUNK_BYTES = MAX_FRAME_BYTES
MAX_NAME_BYTES = 255
MAX_TARGET_BYTES = 4096
_NAMES_AT_ONCE = 50_000
_KINDS = bytes(kind >> 12 for kind in (DIRECTORY, REGULAR, SYMLINK))
_NOT_A_FILE = bytes(kind != REGULAR >> 12 for kind in range(256))
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)


class UnsafeName(Malformed):
    """A name that could lead out of the target. `args[1]` is the name."""


def check_index(index: Index, like: Index | None = None) -> None:
    """Malformed says what is wrong; every later reader relies on what was checked here.

    `like` has been through this before: of an index with the same paths only the rest is checked.
    """
    if like is not None and index.has_shape_of(like):
        index.take_shape_of(like)
    else:
        _check_shape(index)
    check_references(index)


def _check_shape(index: Index) -> None:
    _check_names(index)
    if index.kinds().translate(None, _KINDS):
        raise Malformed("the index holds something that is no file, directory or symlink")
    index.connect()
    _check_order(index)
    index.symlinks = index.of_kind(SYMLINK)
    if len(index.symlinks) != len(index.targets):
        raise Malformed("the index holds more or fewer symlinks than targets")
    if any(not 0 < len(target) <= MAX_TARGET_BYTES for target in index.targets):
        raise Malformed("the index holds a symlink target that no system allows")


def check_references(index: Index) -> None:
    """The part that a writer could get wrong: every link and every place leads to what it should."""
    _check_archives(index)
    _check_hardlinks(index)
    _check_sparse(index)
    _check_places(index)


def _check_names(index: Index) -> None:
    # Substring searches over the whole table: a loop over names would take most of the loading.
    blob = b"\0" + bytes(index.names.blob)
    for bad in (b"\0\0", b"\0.\0", b"\0..\0", b"/"):
        found = blob.find(bad)
        if found >= 0:
            start = blob.rfind(b"\0", 0, found + 1) + 1
            name = blob[start : blob.find(b"\0", start)]
            raise UnsafeName("it is no plain file name", name or b"(empty)")


def _check_order(index: Index) -> None:
    # Strictly ascending inside every group: no name twice, and searching by halves works.
    # Many groups at once: only where one begins may a name be no greater than the one before.
    begins = set(index.first)
    for start in range(0, len(index), _NAMES_AT_ONCE):
        names = index.names.slice(start, min(start + _NAMES_AT_ONCE + 1, len(index)))
        falls = map(ge, names, names[1:])
        if not begins.issuperset(compress(range(start + 1, start + len(names)), falls)):
            raise Malformed("the index has names twice or out of order")


def _check_archives(index: Index) -> None:
    ids = [archive.id for archive in index.archives]
    if len(set(ids)) != len(ids) or not all(_ID.fullmatch(name) for name in [index.id, *ids]):
        raise Malformed("the index names archives in an impossible way")
    for archive in index.archives:
        _check_frames(archive)


def _check_frames(archive: ArchiveFrames) -> None:
    raw, packed = archive.raw_ends, archive.packed_ends
    sizes = [end - start for start, end in zip([0, *raw], raw, strict=False)]
    if any(not 0 < size <= MAX_FRAME_BYTES for size in sizes):
        raise Malformed("the index has a frame of impossible length")
    if not all(map(lt, [0, *packed], packed)) or (packed and packed[-1] > MAX_FILE_BYTES):
        raise Malformed("the index has frames that do not follow each other")


def _check_hardlinks(index: Index) -> None:
    for entry, first in index.hardlinks.items():
        if max(first, entry) >= len(index) or first in index.hardlinks:
            raise Malformed("the index has a hardlink to no file, or to another hardlink")
        if any(index.mode[number] & KIND_MASK != REGULAR for number in (entry, first)):
            raise Malformed("the index has a hardlink to something that is no file")
        if index.size[entry] != index.size[first]:
            raise Malformed("the index has a hardlink with a size of its own")


def _check_sparse(index: Index) -> None:
    for entry, extents in index.sparse.items():
        if not 0 <= entry < len(index) or len(extents) % 2:
            raise Malformed("the index has holes in no file")
        end = 0
        for offset, length in zip(extents[::2], extents[1::2], strict=True):
            if offset < end or length < 0 or offset + length > index.size[entry]:
                raise Malformed("the index has data outside of a sparse file")
            end = offset + length
        if index.size[entry] - sum(extents[1::2]) > MAX_HOLE_BYTES:
            raise Malformed("the index has a file with more holes than any can have")
    for entry in index.xattrs:
        if not 0 <= entry < len(index):
            raise Malformed("the index has attributes of no file")


def _check_places(index: Index) -> None:
    """Every byte of every file lies inside the frames of its archive, and nothing else has any."""
    if max(index.size, default=0) > MAX_FILE_BYTES:
        raise Malformed("the index has a file of impossible size")
    ends = {
        number: archive.raw_ends[-1] if archive.raw_ends else 0
        for number, archive in enumerate(index.archives)
    }
    _check_chunks(index, ends)
    if not set(index.archive) <= {*ends, NOWHERE}:
        raise Malformed("the index reads from an archive it does not name")
    ends[NOWHERE] = 0
    sizes = index.size
    if index.sparse or index.chunks:
        sizes = sizes[:]
        for entry in index.sparse:
            sizes[entry] = index.stored_size(entry)
        for entry in filter(index.is_scattered, index.chunks):
            sizes[entry] = 0  # its bytes lie where its chunks do
    limits = map(ends.__getitem__, index.archive)
    if not all(map(le, map(add, index.position, sizes), limits)):
        raise Malformed("the index has content beyond the end of an archive, or in none")
    not_files = index.kinds().translate(_NOT_A_FILE)
    if not set(compress(index.archive, not_files)) <= {NOWHERE}:
        raise Malformed("the index has content for something that is no file")


def _check_chunks(index: Index, ends: dict[int, int]) -> None:
    """Chunks make up exactly the file they belong to, and lie inside the frames of their archives."""
    for entry, chunks in index.chunks.items():
        if not 0 <= entry < len(index) or index.mode[entry] & KIND_MASK != REGULAR:
            raise Malformed("the index has chunks of something that is no file")
        _check_lengths(chunks, index.stored_size(entry))
        if not set(chunks.archive) <= ends.keys():
            raise Malformed("the index reads a chunk from an archive it does not name")
        limits = map(ends.__getitem__, chunks.archive)
        if not all(map(le, map(add, chunks.position, chunks.lengths), limits)):
            raise Malformed("the index has a chunk beyond the end of an archive")
        place = index.archive[entry], index.position[entry]
        if place[0] != NOWHERE and chunks.place() != place:
            raise Malformed("the index has chunks elsewhere than the file they belong to")
    if any(map(index.is_scattered, index.chunks)):
        _check_apart(index)


def _check_lengths(chunks: Chunks, stored: int) -> None:
    columns = (chunks.archive, chunks.position)
    if any(len(column) != len(chunks) for column in columns) or not len(chunks):
        raise Malformed("the index has a wrong number of values for a chunk")
    if len(chunks.digests) != DIGEST_BYTES * len(chunks):
        raise Malformed("the index has a wrong number of values for a chunk")
    if not 0 < min(chunks.lengths) <= max(chunks.lengths) <= MAX_CHUNK_BYTES:
        raise Malformed("the index has a chunk of impossible length")
    if sum(chunks.lengths) != stored:
        raise Malformed("the index has chunks that do not make up their file")


def _check_apart(index: Index) -> None:
    """Two chunks lie at the same place or do not touch: no honest writer cuts a content twice."""
    lengths: dict[int, int] = {}
    for chunks in index.chunks.values():
        starts = map(_start_of, chunks.archive, chunks.position)
        lengths.update(zip(starts, chunks.lengths, strict=True))
    for chunks in index.chunks.values():  # no two began at the same place with different lengths
        starts = map(_start_of, chunks.archive, chunks.position)
        if not all(map(eq, map(lengths.__getitem__, starts), chunks.lengths)):
            raise Malformed("the index has chunks that overlap")
    order = sorted(lengths)
    ends = map(add, order, map(lengths.__getitem__, order))
    if not all(map(le, ends, order[1:])):
        raise Malformed("the index has chunks that overlap")


def _start_of(number: int, position: int) -> int:
    """One number for a place: archives lie so far apart that no chunk reaches into the next."""
    return number << 64 | position
