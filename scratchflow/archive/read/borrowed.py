"""Checks the content that a snapshot reads from other archives than its own.

Only that content counts. A needed archive may hold bytes, or name archives, that its own snapshot
needed and no snapshot needs any more: those may be damaged or gone, and every restore still works.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from scratchflow.archive.files.digest import StreamDigest
from scratchflow.archive.read.batches import Unit, units_of
from scratchflow.archive.read.chunk_check import PlacedChunk, own_chunks, placed_chunks
from scratchflow.archive.read.reader import (
    Archives,
    OpenArchive,
    damaged_content,
    open_index,
    with_holes,
)
from scratchflow.archive.read.spans import SpanReader
from scratchflow.archive.tree.index import Index
from scratchflow.model.errors import ScratchflowError, SnapshotDamaged


def verify_borrowed(
    index: Index, open_archive: OpenArchive, *, verified: Collection[str] = ()
) -> list[str]:
    """Why a restore could not read what this snapshot needs from other archives; one reason for each.

    An archive in `verified` was read and matches its own index. It is not read again if that index
    lists the same content at the same places. Otherwise every needed byte is read and compared.
    """
    entries: dict[int, list[int]] = defaultdict(list)
    scattered = []
    for entry in index.regular_files():
        if index.is_scattered(entry):
            scattered.append(entry)
        elif index.stored_size(entry) and entry not in index.hardlinks:
            entries[index.archive[entry]].append(entry)
    problems = []
    for number, wanted in sorted(entries.items()):
        archive = index.archives[number].id
        if archive == index.id:
            continue
        if archive in verified and _is_listed(index, wanted, open_archive):
            continue
        problems += _read(index, wanted, open_archive)
    if not _are_chunks_listed(index, scattered, open_archive, verified):
        # Its own chunks as well: only the whole file has the digest that a restore compares.
        problems += _read(index, scattered, open_archive)
    return problems


def _are_chunks_listed(
    index: Index, scattered: list[int], open_archive: OpenArchive, verified: Collection[str]
) -> bool:
    """Whether all chunks of these files lie in verified archives that list the same ones there."""
    wanted: dict[int, set[PlacedChunk]] = defaultdict(set)
    for entry in scattered:
        for number, chunk in placed_chunks(index, entry):
            wanted[number].add(chunk)
    for number, chunks in wanted.items():
        if index.archives[number].id not in verified:
            return False
        theirs = _own_index(index, number, open_archive)
        if theirs is None or not chunks <= own_chunks(*theirs):
            return False
    return True


def _own_index(index: Index, number: int, open_archive: OpenArchive) -> tuple[Index, int] | None:
    """The index of an archive and its own number there, if it has the same frames and seed."""
    ours = index.archives[number]
    try:
        theirs = open_index(open_archive(ours.id))
    except ScratchflowError:
        return None
    own = next((one for one in theirs.archives if one.id == theirs.id == ours.id), None)
    if own is None or theirs.seed != index.seed:
        return None
    if own.raw_ends != ours.raw_ends or own.packed_ends != ours.packed_ends:
        return None
    return theirs, theirs.archives.index(own)


def _is_listed(index: Index, wanted: list[int], open_archive: OpenArchive) -> bool:
    """Whether the archive's own index has these contents in the same frames at the same positions."""
    found = _own_index(index, index.archive[wanted[0]], open_archive)
    if found is None:
        return False
    theirs, number = found
    listed = {
        (theirs.position[entry], theirs.digest_of(entry))
        for entry in theirs.regular_files()
        if theirs.archive[entry] == number
    }
    return all((index.position[entry], index.digest_of(entry)) in listed for entry in wanted)


def _read(index: Index, wanted: list[int], open_archive: OpenArchive) -> list[str]:
    try:
        with Archives(index, open_archive) as archives:
            small, large = units_of(archives, wanted)
            for unit in small:
                _read_unit(archives, unit)
            for entry in large:
                _read_large(archives, entry)
    except SnapshotDamaged as error:
        return [error.fields["reason"]]
    return []


def _read_unit(archives: Archives, unit: Unit) -> None:
    """Files that lie in one frame. Bytes of the frame between them may be damaged."""
    (number, frame), entries = unit
    stored = sum(map(archives.index.stored_size, entries))
    content = archives.files_in(number, frame, stored)
    for entry in entries:
        _compare(archives.index, entry, iter([content(entry)]))


def _read_large(archives: Archives, entry: int) -> None:
    # In the same way as a restore: whole frames with their checksums, or blocks of one.
    spans = list(archives.spans_of(entry))
    _compare(archives.index, entry, map(SpanReader(archives, spans).content, spans))


def _compare(index: Index, entry: int, stored: Iterator[memoryview]) -> None:
    digest = StreamDigest(seed=index.seed)
    for piece in with_holes(stored, index.sparse.get(entry), index.size[entry]):
        digest.update(piece)
    if digest.digest() != index.digest_of(entry):
        raise damaged_content(index, entry)
