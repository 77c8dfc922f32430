"""Archives whose snapshots are gone, of which others need a little: the rest of them is given up.

An archive is replaced in one step by one that holds what is needed at the same positions. Killed at any
line, the store has the archive from before, or the smaller one; what is half written is left for `sweep`.
"""

from __future__ import annotations

import os

import msgspec

from scratchflow.archive.read.reader import open_index
from scratchflow.archive.tree.index import ArchiveFrames, Index
from scratchflow.archive.write.remnant import (
    Range,
    expected_bytes,
    merged,
    ranges_in,
    write_remnant,
)
from scratchflow.disk.durable import fsync_directory
from scratchflow.model.errors import NoSpace, ScratchflowError, SnapshotDamaged, StoreUnusable
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.commit.archive_file import ArchiveFile
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.retention.readers import held_archives

# Less than this is not worth writing anything for.
MIN_FREED_BYTES = 1 << 20


class Compacted(msgspec.Struct, frozen=True):
    """What was rewritten, and how much room that made."""

    archives: tuple[str, ...] = ()
    freed_bytes: int = 0


class _Need(msgspec.Struct):
    """What all snapshots together read from an archive whose own snapshot is gone."""

    frames: ArchiveFrames  # as an index lists them
    live: list[Range] = msgspec.field(default_factory=list)


def compact(lock: StoreLock) -> Compacted:
    """Rewrites every archive without a manifest of which less than half is needed.

    An archive that a restore reads at this moment stays as it is, and so does one that is damaged or missing, or needed
    by a snapshot that cannot be read. On a full disk nothing more is done.
    """
    lock.assert_held()
    place = lock.place
    catalogue = read_catalogue(place)
    if catalogue.skipped:
        return Compacted()
    done: list[str] = []
    freed_bytes = 0
    for archive, need in sorted(_needs(place, catalogue).items()):
        try:
            freed = _compact_one(lock, archive, need)
        except NoSpace:
            break
        except (SnapshotDamaged, StoreUnusable):
            continue
        if freed:
            done.append(archive)
            freed_bytes += freed
    return Compacted(tuple(done), freed_bytes)


def _needs(place: StoreDirectory, catalogue: Catalogue) -> dict[str, _Need]:
    """Of each archive without a manifest what is needed; without those of which that is not known."""
    listed = {one.id for one in catalogue.snapshots}
    orphaned = {each for one in catalogue.snapshots for each in one.needs if each not in listed}
    found: dict[str, _Need] = {}
    unknown: set[str] = set()
    before: Index | None = None
    for one in catalogue.snapshots:
        if orphaned.isdisjoint(one.needs):
            continue
        try:
            index = open_index(place.archive(one.id), before)
        except ScratchflowError:
            unknown.update(one.needs)
            continue
        before = index
        for number, frames in enumerate(index.archives):
            if frames.id in orphaned:
                need = found.setdefault(frames.id, _Need(frames))
                need.live = merged([*need.live, *ranges_in(index, number)])
                if need.frames.raw_ends != frames.raw_ends:
                    unknown.add(frames.id)
    return {archive: need for archive, need in found.items() if archive not in unknown}


def _compact_one(lock: StoreLock, archive: str, need: _Need) -> int:
    """How many bytes became free; none when most of the archive is needed."""
    place = lock.place
    path = place.archive(archive)
    with store_errors(path):
        size = os.stat(path).st_size
    expected = expected_bytes(need.frames, need.live)
    if size < 2 * expected or size - expected < MIN_FREED_BYTES:
        return 0
    new = ArchiveFile(place.temp_archive(archive))
    try:
        write_remnant(path, need.frames, need.live, new)
        new.finish()
        new.require_read_back(archive)
        lock.assert_held()
        # Asked last: a restore says first what it reads, and opens it then.
        if archive in held_archives(place) or new.tell() >= size:
            return 0
        with store_errors(path):
            os.replace(place.temp_archive(archive), path)
            fsync_directory(place.directory)
    finally:
        new.abandon()
    return size - new.tell()
