"""Shares the files of a restore out: by the frames that hold them, the most recently changed first."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import msgspec

from scratchflow.archive.read.archives import Archives
from scratchflow.archive.tree.index import NOWHERE, Index
from scratchflow.archive.workers.queue import MAX_SHARES

_EMPTY = (NOWHERE, 0)
_EMPTY_FILES_A_UNIT = 512
_BATCHES_A_THREAD = 4
_MIN_FILES_A_BATCH = 16

Unit = tuple[tuple[int, int], "array[int]"]  # (archive number, frame), and the files inside


class Batch(msgspec.Struct, frozen=True):
    """What one process takes at a time: either frames full of small files, or large files."""

    units: list[Unit] = []
    large: list[int] = []

    def entries(self) -> list[int]:
        """Its files in the order in which they are done."""
        return [entry for _, inside in self.units for entry in inside] + self.large


def batches_of(small: list[Unit], large: list[int]) -> list[Batch]:
    """All files in the same order, in batches that processes can share."""
    each = max(1, -(-(len(small) + len(large)) // (MAX_SHARES - 1)))
    batches = [Batch(units=small[at : at + each]) for at in range(0, len(small), each)]
    return batches + [Batch(large=large[at : at + each]) for at in range(0, len(large), each)]


def units_of(archives: Archives, entries: Iterable[int]) -> tuple[list[Unit], list[int]]:
    """Files by the one frame that holds them, and apart from them those that lie in several."""
    index = archives.index
    archive, position, size, sparse = index.archive, index.position, index.size, index.sparse
    by_frame: dict[tuple[int, int], array[int]] = {}
    units: list[Unit] = []
    large: list[int] = []
    empty = array("I")
    # The frame of the last file, where it is in the tar stream, and what it holds: most files lie in
    # the same one as the file before them.
    number, start, end, inside = -1, 0, 0, empty
    for entry in entries:
        count = size[entry]
        is_in_it = archive[entry] == number and start <= position[entry] <= end - count
        if is_in_it and count and entry not in sparse:
            inside.append(entry)
            continue
        if index.is_scattered(entry):
            large.append(entry)
            continue
        frames = archives.frames_of(entry)
        if len(frames) > 1:
            large.append(entry)
        elif frames:
            number, frame = archive[entry], frames[0]
            ends = index.archives[number]
            start, end = ends.raw_start(frame), ends.raw_ends[frame]
            inside = by_frame.setdefault((number, frame), array("I"))
            inside.append(entry)
        else:
            empty.append(entry)
    units.extend(by_frame.items())
    units.extend(
        (_EMPTY, empty[start : start + _EMPTY_FILES_A_UNIT])
        for start in range(0, len(empty), _EMPTY_FILES_A_UNIT)
    )
    units.sort(key=lambda unit: -_newest(index, unit[1]))
    large.sort(key=lambda entry: -index.mtime_ns[entry])
    return units, large


def spread(units: list[Unit], threads: int) -> list[Unit]:
    """Units that keep all threads busy: what few frames hold is cut into smaller units.

    A frame is then read by several threads. That costs less than one thread alone would take
    to put its files in place.
    """
    if len(units) >= threads * _BATCHES_A_THREAD:
        return units
    files = sum(len(entries) for _, entries in units)
    batch = max(_MIN_FILES_A_BATCH, files // (threads * _BATCHES_A_THREAD))
    return [
        (place, entries[start : start + batch])
        for place, entries in units
        for start in range(0, len(entries), batch)
    ]


def _newest(index: Index, entries: array[int]) -> int:
    return max(index.mtime_ns[entry] for entry in entries)
