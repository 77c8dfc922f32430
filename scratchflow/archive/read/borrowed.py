"""Checks the content that a snapshot reads from other archives than its own.

Only that content counts. A needed archive may hold bytes, or name archives, that its own snapshot
needed and no snapshot needs any more: those may be damaged or gone, and every restore still works.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from scratchflow.archive.files.digest import StreamDigest
from scratchflow.archive.read.archives import Archives, OpenArchive
from scratchflow.archive.read.batches import Unit, units_of
from scratchflow.archive.read.file_content import damaged_content, with_holes
from scratchflow.archive.read.proven import Proven
from scratchflow.archive.read.spans import SpanReader
from scratchflow.archive.tree.index import NOWHERE, Index
from scratchflow.model.errors.snapshots import SnapshotDamaged


def verify_borrowed(
    index: Index, open_archive: OpenArchive, proven: Proven | None = None
) -> list[str]:
    """Why a restore could not read what this snapshot needs from other archives; one reason for each.

    What is `proven` to be there is not read again. Of everything else every needed byte is read and compared. Of a file
    in several places that means its own chunks as well: only the whole file has the digest that a restore compares.
    """
    is_seen = (proven or Proven(open_archive)).checker(index)
    wanted: dict[int, list[int]] = defaultdict(list)
    for entry in index.regular_files():
        number = index.archive[entry]
        is_own = number != NOWHERE and index.archives[number].id == index.id
        if is_own or entry in index.hardlinks or not index.stored_size(entry):
            continue
        if not is_seen(entry):
            wanted[number].append(entry)
    return [
        reason
        for _, entries in sorted(wanted.items())
        for reason in _read(index, entries, open_archive)
    ]


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
    # In the same way as a restore: other bytes of a frame may be damaged.
    spans = list(archives.spans_of(entry))
    _compare(archives.index, entry, SpanReader(archives, spans).in_order())


def _compare(index: Index, entry: int, stored: Iterator[memoryview]) -> None:
    digest = StreamDigest(seed=index.seed)
    for piece in with_holes(stored, index.sparse.get(entry), index.size[entry]):
        digest.update(piece)
    if digest.digest() != index.digest_of(entry):
        raise damaged_content(index, entry)
