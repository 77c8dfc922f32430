"""Archives whose snapshots are gone, of which others need a little: the rest of them is given up.

An archive is replaced in one step by one that holds what is needed at the same positions. Killed at any
line, the store has the archive from before, or the smaller one; what is half written is left for `sweep`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

import msgspec

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import ArchiveFrames, Index
from scratchflow.archive.write.remnant import (
    Range,
    expected_bytes,
    merged,
    ranges_in,
    write_remnant,
)
from scratchflow.disk.durable import fsync_directory
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import NoSpace, StoreUnusable
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.commit.archive_file import ArchiveFile
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.rescue_files import put_rescue
from scratchflow.store.retention.readers import held_archives

# A block of most file systems: where less becomes free, nothing does. More than that would add up, for every
# snapshot that is removed leaves an archive with its index, which nobody needs any more.
MIN_FREED_BYTES = 4 << 10
# A file costs its share of a round however small it is: it is made durable, and read back.
_LEAST_SHARE_BYTES = 1 << 20

Progress = Callable[[int, int, int, int], None]
"""How many archives are done, of how many, and how many bytes, of how many."""


class Compacted(msgspec.Struct, frozen=True):
    """What was rewritten, and how much room that made."""

    archives: tuple[str, ...] = ()
    freed_bytes: int = 0


class _Need(msgspec.Struct):
    """What all snapshots together read from an archive whose own snapshot is gone."""

    frames: ArchiveFrames  # as an index lists them
    live: list[Range] = msgspec.field(default_factory=list)


class _Work(msgspec.Struct, frozen=True):
    """An archive of which less than half is needed."""

    archive: str
    need: _Need
    expected_bytes: int  # how long it will be


class CompactionPlan(msgspec.Struct, frozen=True):
    """What is to be rewritten, the least first, and the snapshots for which that is right."""

    snapshots: frozenset[str] = frozenset()
    work: tuple[_Work, ...] = ()


def plan_compaction(place: StoreDirectory) -> CompactionPlan:
    """Finds every archive without a manifest of which less than half is needed. Needs no lock.

    One that is damaged or missing, or needed by a snapshot that cannot be read, is left alone.
    """
    catalogue = read_catalogue(place)
    if catalogue.skipped:
        return CompactionPlan()
    work = []
    for archive, need in _needs(place, catalogue).items():
        with suppress(StoreUnusable):
            expected = _expected_bytes(place, archive, need)
            if expected is not None:
                work.append(_Work(archive, need, expected))
    work.sort(key=lambda one: (one.expected_bytes, one.archive))
    return CompactionPlan(_ids(catalogue), tuple(work))


def compact(
    lock: StoreLock,
    plan: CompactionPlan | None = None,
    limit_bytes: int | None = None,
    progress: Progress | None = None,
) -> Compacted:
    """Rewrites what the plan says; without one, what is found now.

    When there are other snapshots than the plan knows, nothing is done: they may need more. With a limit nothing
    more is begun when so many bytes were written; a small archive counts as one of 1 MiB there. An archive that a
    restore reads at this moment stays as it is. On a full disk nothing more is done.
    """
    lock.assert_held()
    place = lock.place
    found = plan_compaction(place) if plan is None else plan
    catalogue = read_catalogue(place)
    if catalogue.skipped or _ids(catalogue) != found.snapshots:
        return Compacted()
    if found.work:
        try:
            put_rescue(place)  # an older one may not know archives as they are written now
        except (NoSpace, StoreUnusable):
            return Compacted()
    done: list[str] = []
    freed_bytes = written_bytes = share_bytes = 0
    total_bytes = sum(one.expected_bytes for one in found.work)
    for number, one in enumerate(found.work):
        if limit_bytes is not None and share_bytes >= limit_bytes:
            break
        if progress is not None:
            progress(number, len(found.work), written_bytes, total_bytes)
        written_bytes += one.expected_bytes
        share_bytes += max(one.expected_bytes, _LEAST_SHARE_BYTES)
        try:
            freed = _compact_one(lock, one)
        except NoSpace:
            break
        except (SnapshotDamaged, StoreUnusable):
            continue
        if freed:
            done.append(one.archive)
            freed_bytes += freed
    return Compacted(tuple(done), freed_bytes)


def _ids(catalogue: Catalogue) -> frozenset[str]:
    return frozenset(one.id for one in catalogue.snapshots)


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


def _expected_bytes(place: StoreDirectory, archive: str, need: _Need) -> int | None:
    """How long an archive would be afterwards; None when most of it is needed."""
    path = place.archive(archive)
    with store_errors(path):
        size = os.stat(path).st_size
    expected = expected_bytes(need.frames, need.live)
    is_worthwhile = size >= 2 * expected and size - expected >= MIN_FREED_BYTES
    return expected if is_worthwhile else None


def _compact_one(lock: StoreLock, work: _Work) -> int:
    """How many bytes became free."""
    place, archive, need = lock.place, work.archive, work.need
    path = place.archive(archive)
    with store_errors(path):
        size = os.stat(path).st_size
    new = ArchiveFile(place.temp_archive(archive))
    try:
        digest = write_remnant(path, need.frames, need.live, new)
        new.finish()
        new.require_read_back(archive, digest)
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
