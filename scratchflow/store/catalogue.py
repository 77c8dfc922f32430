"""Lists the snapshots of a store directory from their manifests, and which manifests cannot be used.

Reading takes no lock and changes nothing, so it may run beside a commit or a prune. `latest` is
computed here and stored nowhere: a file or link that names it could be wrong after a crash.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone

import msgspec

from scratchflow.archive.files.limits import refuse_own_limit
from scratchflow.disk.durable import is_there
from scratchflow.model.errors.snapshots import LatestUnreadable, SnapshotDamaged, SnapshotMissing
from scratchflow.model.snapshot import (
    Manifest,
    NewerManifest,
    checked_manifest,
    is_snapshot_id,
    manifest_in,
    snapshot_id,
)
from scratchflow.model.times import epoch
from scratchflow.store.directory import ARCHIVE_SUFFIX, MANIFEST_SUFFIX, StoreDirectory
from scratchflow.store.failures import store_errors

LATEST = "latest"
# How far the clocks of a cluster's machines may differ before the time of an id is no longer the time to tell.
_CLOCKS_DIFFER = timedelta(minutes=10)

_MANIFEST_LIMIT_BYTES = 8 * 1024 * 1024


class Skipped(msgspec.Struct, frozen=True):
    """A manifest that cannot be used. What it needs is unknown, so nothing may be deleted for it."""

    snapshot: str
    reason: str
    # It is a file whose checksum does not match: half, empty, or a bit flipped. Nothing else may be replaced.
    is_damaged: bool = False
    # A later version made it, and nothing is wrong with it.
    is_newer: bool = False

    def way_out(self, otherwise: str) -> str:
        """What to do about it: `otherwise`, unless this scratchflow is merely too old for it."""
        if not self.is_newer:
            return otherwise
        return "nothing is damaged: update scratchflow on the machine where you type it"


class DamagedManifest(ValueError):
    """The checksum of a manifest does not match."""


class Catalogue(msgspec.Struct, frozen=True):
    """The snapshots of a place, oldest first, as they were when it was read."""

    snapshots: tuple[Manifest, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    # Why a listed snapshot will not restore, by its id. Sizes are compared, bytes are not.
    damaged: Mapping[str, str] = msgspec.field(default_factory=dict)
    # Of those, the ones whose own archive is as it was: others' archives are there and have another size. What
    # they read of these may be whole, which only `verify` can tell.
    cut_elsewhere: Mapping[str, frozenset[str]] = msgspec.field(default_factory=dict)
    # What is wrong with archives, by id, also by their sizes alone.
    archive_problems: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def unreadable(self) -> dict[str, str]:
        """Why manifests cannot be used, by snapshot."""
        return {one.snapshot: one.reason for one in self.skipped}

    @property
    def own_damage(self) -> frozenset[str]:
        """Those whose own archive is not as it was, or that need one which is not there."""
        return frozenset(self.damaged.keys() - self.cut_elsewhere.keys())

    @property
    def main_line(self) -> tuple[Manifest, ...]:
        """The snapshots of which the last is the newest: without those that were taken beside it, as forks.

        All of them when there is nothing else: then the last fork is the best that there is.
        """
        return tuple(one for one in self.snapshots if not one.beside) or self.snapshots

    @property
    def latest(self) -> Manifest | None:
        """The newest snapshot, damaged or not; LatestUnreadable while a newer one cannot be read.

        Newer means a greater id. Each id is made greater than every id in the store, so the order is
        that of the commits, also when the clocks of the nodes disagree. A fork that was taken beside
        the newest one is not newer; of one that cannot be read nobody knows whether it is such a fork.
        """
        if unreadable := self.newer_unreadable:
            raise self._latest_unreadable(unreadable)
        return self.newest_readable

    @property
    def newest_readable(self) -> Manifest | None:
        """The newest snapshot that can be read. A newer one may exist: for guesses and pictures only."""
        return self.main_line[-1] if self.snapshots else None

    @property
    def newer_unreadable(self) -> Skipped | None:
        """The newest snapshot, when its manifest cannot be read."""
        newest = next(
            (one for one in reversed(self.skipped) if _carries_a_time(one.snapshot)), None
        )
        return newest if newest and newest.snapshot == self.newest_id else None

    @property
    def newest_id(self) -> str | None:
        """The id of the newest snapshot, readable or not."""
        return max([*self._unread_ids, *(one.id for one in self.main_line[-1:])], default=None)

    @property
    def greatest_id(self) -> str | None:
        """The greatest id of all, readable or not, also that of a fork."""
        return max([*self._unread_ids, *(one.id for one in self.snapshots[-1:])], default=None)

    @property
    def _unread_ids(self) -> list[str]:
        return [one.snapshot for one in self.skipped if _carries_a_time(one.snapshot)]

    @property
    def latest_whole(self) -> Manifest | None:
        """The newest snapshot that is not damaged; a fork when all others are."""
        newest_first = [*reversed(self.main_line), *reversed(self.snapshots)]
        return next((one for one in newest_first if one.id not in self.damaged), None)

    def by_id(self, snapshot: str) -> Manifest:
        """The snapshot with this very id; `store/names.py` understands what people write."""
        for one in self.snapshots:
            if one.id == snapshot:
                return one
        raise SnapshotMissing(
            wanted=snapshot, next_step="`scratchflow snapshots list` shows them all"
        )

    def require_whole(self, snapshot: Manifest) -> None:
        """Raises SnapshotDamaged for a snapshot whose archives are not all there."""
        if reason := self.damaged.get(snapshot.id):
            raise SnapshotDamaged(snapshot=snapshot.id, reason=reason)

    def _latest_unreadable(self, unreadable: Skipped) -> LatestUnreadable:
        manifest = f"`{unreadable.snapshot}{MANIFEST_SUFFIX}`"
        first = unreadable.way_out(f"repair {manifest} in the store")
        next_step = f"{first}; no other snapshot can be read"
        if older := self.newest_readable:
            next_step = (
                f"{first}, or go on without it: `scratchflow restore"
                f" {older.id}` restores the newest snapshot that can be read"
            )
        return LatestUnreadable(
            snapshot=unreadable.snapshot, reason=unreadable.reason, next_step=next_step
        )


def read_catalogue(place: StoreDirectory) -> Catalogue:
    """Reads every manifest. A place that does not exist has no snapshots.

    Junk is passed over. A manifest that is half, foreign, or of a newer scratchflow is skipped
    with its reason; one whose archives are missing or of another size is listed as damaged.
    """
    with store_errors(place.directory):
        manifests, skipped = _read_manifests(place)
        problems = _problems(
            place, {one for each in manifests.values() for one in needed_archives(each)}, manifests
        )
        damaged = _find_damage(manifests, problems)
        cut_elsewhere = _cut_elsewhere(place, manifests, problems, damaged)
        # Pruned while it was being looked at: not damaged, just no longer there.
        gone = {one for one in damaged if not is_there(place.manifest(one))}
    listed = [one for one in manifests.values() if one.id not in gone]
    needed = {archive for one in listed for archive in needed_archives(one)}
    return Catalogue(
        snapshots=tuple(sorted(listed, key=lambda one: one.id)),
        skipped=tuple(sorted(skipped, key=lambda one: one.snapshot)),
        damaged={one: reason for one, reason in damaged.items() if one not in gone},
        cut_elsewhere={one: cut for one, cut in cut_elsewhere.items() if one not in gone},
        archive_problems={one: why for one, why in problems.items() if one in needed},
    )


def newest_listed(place: StoreDirectory) -> str | None:
    """The greatest id that has a manifest, by the directory alone: no manifest is read."""
    with store_errors(place.directory):
        return max(_listed_ids(place), default=None)


def fresh_id(catalogue: Catalogue, now: datetime, token: str) -> str:
    """An id for a snapshot begun now that sorts after every other, also when clocks disagree."""
    wanted, newest = snapshot_id(now, token), catalogue.greatest_id
    if newest is None or wanted[:16] > newest[:16]:
        return wanted
    return snapshot_id(begun_at(newest) + timedelta(seconds=1), token)


def begun_at(snapshot: str) -> datetime:
    """The time that an id carries; ValueError when its digits are no time."""
    date = int(snapshot[:4]), int(snapshot[4:6]), int(snapshot[6:8])
    clock = int(snapshot[9:11]), int(snapshot[11:13]), int(snapshot[13:15])
    return datetime(*date, *clock, tzinfo=timezone.utc)


def time_to_tell(snapshot: str, now: datetime) -> datetime:
    """When a snapshot with this fresh id was taken: as the id says, unless that is far in the future.

    An id is moved behind the greatest one. After one backup with the clock ahead that is a time to come,
    of every later snapshot until that day; then it is the clock that says when this one was taken.
    """
    begun = begun_at(snapshot)
    return begun if begun - now <= _CLOCKS_DIFFER else now


def taken_at(manifest: Manifest) -> datetime:
    """When a snapshot was taken, by the clock of its machine. Its id may be later, and says the order alone."""
    taken_s = epoch(manifest.time)
    if taken_s is None:
        return begun_at(manifest.id)
    return datetime.fromtimestamp(taken_s, timezone.utc)


def _carries_a_time(snapshot: str) -> bool:
    """Whether we can have made this id."""
    try:
        begun_at(snapshot)
    except ValueError:
        return False
    return True


def _read_manifests(place: StoreDirectory) -> tuple[dict[str, Manifest], list[Skipped]]:
    found: dict[str, Manifest] = {}
    skipped: list[Skipped] = []
    for snapshot in _listed_ids(place):
        one = _read_manifest(place, snapshot)
        if isinstance(one, Skipped):
            skipped.append(one)
        elif one is not None:
            found[snapshot] = one
    return found, skipped


def _read_manifest(place: StoreDirectory, snapshot: str) -> Manifest | Skipped | None:
    try:
        return decoded_manifest(snapshot, read_manifest_file(place, snapshot))
    except FileNotFoundError:  # pruned since the directory was listed
        return None
    except OSError as error:
        refuse_own_limit(error)
        return Skipped(snapshot, f"its manifest cannot be read: {error.strerror}")
    except ValueError as error:
        is_newer = isinstance(error, NewerManifest)
        return Skipped(snapshot, str(error), isinstance(error, DamagedManifest), is_newer)


def _listed_ids(place: StoreDirectory) -> list[str]:
    try:
        names = os.listdir(place.directory)
        # Without the right to enter it no manifest can be read, which says nothing about any of them.
        os.stat(os.path.join(place.directory, "."))
    except FileNotFoundError:
        return []
    stems = (name.removesuffix(MANIFEST_SUFFIX) for name in names if name.endswith(MANIFEST_SUFFIX))
    return [stem for stem in stems if is_snapshot_id(stem)]


def read_manifest_file(place: StoreDirectory, snapshot: str) -> bytes:
    """The manifest as it lies there."""
    # Without O_NONBLOCK a FIFO of that name would hang the listing.
    descriptor = os.open(place.manifest(snapshot), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MANIFEST_LIMIT_BYTES:
            raise ValueError("its manifest is not a file of a manifest's kind and size")
        return _read_all(descriptor, found.st_size)
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, size: int) -> bytes:
    content = os.read(descriptor, size + 1)
    while more := os.read(descriptor, size + 1):
        content += more
    return content


def decoded_manifest(snapshot: str, content: bytes) -> Manifest:
    """The manifest, or a ValueError that says why it cannot be used."""
    try:
        body = checked_manifest(content)
    except ValueError as error:
        raise DamagedManifest(str(error)) from None
    try:
        manifest = manifest_in(body)
    except msgspec.DecodeError as error:
        raise ValueError(f"its manifest is damaged: {error}") from None
    if manifest.id != snapshot:
        raise ValueError("its manifest is that of another snapshot")
    if not all(is_snapshot_id(one) for one in manifest.needs):
        raise ValueError("its manifest is damaged: `needs` holds something that is no id")
    begun_at(snapshot)
    return manifest


def _find_damage(manifests: Mapping[str, Manifest], problems: Mapping[str, str]) -> dict[str, str]:
    """Why snapshots would not restore, by id; `problems` are those of archives."""
    bad = {one.id: sorted(needed_archives(one) & problems.keys()) for one in manifests.values()}
    return {snapshot: problems[archives[0]] for snapshot, archives in bad.items() if archives}


def _cut_elsewhere(
    place: StoreDirectory,
    manifests: Mapping[str, Manifest],
    problems: Mapping[str, str],
    damaged: Iterable[str],
) -> dict[str, frozenset[str]]:
    missing = {one for one in problems if not is_there(place.archive(one))}
    found = {}
    for snapshot in damaged:
        bad = needed_archives(manifests[snapshot]) & problems.keys()
        if snapshot not in bad and bad.isdisjoint(missing):
            found[snapshot] = frozenset(bad)
    return found


def missing_archives(
    place: StoreDirectory, catalogue: Catalogue, manifest: Manifest
) -> dict[str, str]:
    """Which archives of a snapshot are not there, and why. One of another size is: what is in it shows when it is read."""
    if manifest.id not in catalogue.damaged:
        return {}
    return _problems(place, needed_archives(manifest), {})


def _problems(
    place: StoreDirectory, archives: Iterable[str], manifests: Mapping[str, Manifest]
) -> dict[str, str]:
    """What is wrong with archives, by id. One `stat` for each, whoever needs it."""
    found: dict[str, str] = {}
    for archive in archives:
        known = manifests.get(archive)
        if problem := _archive_problem(place, archive, known.archive_bytes if known else None):
            found[archive] = problem
    return found


def needed_archives(manifest: Manifest) -> set[str]:
    """Every archive a restore reads from: `needs` is direct and complete, plus the snapshot's own."""
    return {manifest.id, *manifest.needs}


def _archive_problem(
    place: StoreDirectory, snapshot: str, expected_bytes: int | None
) -> str | None:
    name = f"{snapshot}{ARCHIVE_SUFFIX}"
    try:
        found = os.lstat(place.archive(snapshot))
    except FileNotFoundError:
        return f"`{name}` is missing"
    if not stat.S_ISREG(found.st_mode):
        return f"`{name}` is not a file"
    if expected_bytes is not None and found.st_size != expected_bytes:
        return f"`{name}` has {found.st_size} bytes instead of {expected_bytes}"
    return None
