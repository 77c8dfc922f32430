"""Removing what killed runs left behind: temporary files, and archives that belong to nothing.

Under the lock no commit runs, except one whose owner fell silent and was taken over; it will
notice before its own commit. Nothing younger than the lock's staleness is touched all the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX, fsync_directory
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.store.catalogue import Catalogue, needed_archives, read_catalogue
from scratchflow.store.checks.writable import sweep_trials
from scratchflow.store.directory import ARCHIVE_SUFFIX, MANIFEST_SUFFIX, StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.lock.chain import RELEASED_PREFIX, remove_lock_directory
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.retention.readers import held_archives, old_readers

_RELEASED_LOCK = re.compile(re.escape(RELEASED_PREFIX) + r"[0-9a-f]{32}", re.ASCII)

# A copy that broke off is taken up again within days, or never.
ARRIVING_KEPT_S = 7 * 86400.0


class Swept(msgspec.Struct, frozen=True):
    """What was removed, by file name, and how much room that made."""

    names: tuple[str, ...] = ()
    freed_bytes: int = 0


def sweep(lock: StoreLock, now: float, *, awaited: Collection[str] = ()) -> Swept:
    """Removes leftovers, while the lock is held. `now` is the wall clock; `awaited` archives get their manifest soon.

    An archive goes only if it has no manifest, no manifest needs it, and every manifest could be
    read. Temporary files of a run that certainly died go at once: its half archive may be what
    fills the disk. So call this before a NewSnapshot of the same lock writes its own.
    """
    lock.assert_held()
    place, patience_s = lock.place, lock.timing.stale_after_s
    temp_patience_s = 0.0 if lock.took_over_from_dead else patience_s
    leftovers = [
        *_older(_temps(place.directory), now - temp_patience_s),
        *_older(_temps(place.nodes), now - patience_s),
        *_older(_orphans(place, awaited), now - patience_s),
        *_older(_arriving(place), now - ARRIVING_KEPT_S),
        *old_readers(place, now),
    ]
    sweep_trials(place.directory.parent, now)  # `doctor` tries the store itself
    with store_errors(place.directory):
        freed_bytes = sum(_remove(path) for path in leftovers)
        if leftovers:
            fsync_directory(place.directory)
    return Swept(tuple(path.name for path in leftovers), freed_bytes)


def _arriving(place: StoreDirectory) -> list[Path]:
    """What a copy from another store left; the next one goes on with it, unless that never comes."""
    return [place.arriving / name for name in _names(place.arriving)]


def _temps(directory: Path) -> list[Path]:
    return [directory / name for name in _names(directory) if name.startswith(TEMP_PREFIX)]


def _orphans(place: StoreDirectory, awaited: Collection[str]) -> list[Path]:
    # The directory is listed before the manifests are read: an archive that came with a manifest
    # in between is then seen as needed.
    names = _names(place.directory)
    catalogue = read_catalogue(place)
    if catalogue.skipped:
        return []
    archives = {
        name.removesuffix(ARCHIVE_SUFFIX) for name in names if name.endswith(ARCHIVE_SUFFIX)
    }
    manifests = {name.removesuffix(MANIFEST_SUFFIX) for name in names}
    orphans = archives - manifests - _needed(catalogue) - held_archives(place) - set(awaited)
    return [place.archive(one) for one in orphans if is_snapshot_id(one)]


def _needed(catalogue: Catalogue) -> set[str]:
    return {archive for one in catalogue.snapshots for archive in needed_archives(one)}


def _names(directory: Path) -> set[str]:
    with store_errors(directory):
        try:
            return set(os.listdir(directory))
        except FileNotFoundError:
            return set()


def _older(paths: list[Path], than: float) -> list[Path]:
    return sorted(path for path in paths if _is_leftover(path) and _came_here(path) <= than)


def _is_leftover(path: Path) -> bool:
    """A file, or a lock that was set aside. Any other directory is not ours to remove."""
    return not os.path.isdir(path) or _RELEASED_LOCK.fullmatch(path.name) is not None


def _came_here(path: Path) -> float:
    """When the file was last written, or copied here with an old mtime; never, when it is gone."""
    with store_errors(path):
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return float("inf")
    return max(found.st_mtime, found.st_ctime)


def _remove(path: Path) -> int:
    """Removes one leftover and returns its bytes."""
    size_bytes = os.lstat(path).st_size
    if os.path.isdir(path):
        # NFS keeps a file that is still open somewhere: that lock goes another time.
        with suppress(OSError):
            remove_lock_directory(path)
    else:
        os.unlink(path)
    return size_bytes
