"""Whether the snapshot that holds a node's work is still whole in the store, before the node is given back.

A snapshot is read back before its commit, but a disk may damage it later, and with the node goes the only
other copy. Comparing the archives' digests takes as long as the store needs to give them. So up to 1 GiB is read each
time, and more than that once a day. Where even that would take longer than five minutes nothing is read:
then it is said how long ago the snapshot was read back, and by what command it can be.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection

import msgspec

from scratchflow.archive.read.proven import Proven
from scratchflow.archive.read.verify import verify_bytes
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.snapshot import Manifest
from scratchflow.model.times import iso_time
from scratchflow.model.units import format_duration, format_size
from scratchflow.node.context import NodeContext
from scratchflow.node.history.verification import borrowed_problems
from scratchflow.node.progress import Notifier
from scratchflow.store.catalogue import Catalogue, needed_archives, read_catalogue
from scratchflow.store.checks.verified import (
    Verification,
    read_back_at,
    read_verified,
    record_verified,
)
from scratchflow.store.directory import StoreDirectory, find_place

READ_ALWAYS_BYTES = 1 << 30
FRESH_S = 86400.0
BUDGET_S = 300.0
# How long the speed of the store is measured before it is believed.
_MEASURE_S = 5.0


class Checked(msgspec.Struct, frozen=True):
    """What is known of a snapshot: its damage, or how long ago all that it needs was read back."""

    problem: str = ""
    age_s: int | None = None


class _TooSlow(Exception):
    """Reading everything would take longer than anybody should wait."""


def check_saved(context: NodeContext, notify: Notifier, taken: BackupTaken) -> Checked:
    """Reads back what the snapshot of the last backup needs, unless that was done in this run or today."""
    place = find_place(context.store, context.workspace.name)
    catalogue = read_catalogue(place)
    manifest = catalogue.by_id(taken.snapshot or "")
    archives = needed_archives(manifest)
    if taken.kind != "unchanged":  # stored in this run, and read back for its commit
        archives -= {manifest.id}
    total_bytes = sum(_size(place, one) for one in archives)
    if not archives:
        return Checked(age_s=0)
    now_s = time.time()
    last_s = read_back_at(manifest, catalogue.snapshots, read_verified(place), now_s)
    age_s = None if last_s is None else int(now_s - last_s)
    if total_bytes > READ_ALWAYS_BYTES and age_s is not None and age_s < FRESH_S:
        return Checked(age_s=age_s)
    try:
        reasons = _read_all(context, notify, place, catalogue, sorted(archives), total_bytes)
    except _TooSlow:
        _warn_of_size(notify, manifest.id, total_bytes, age_s)
        return Checked(age_s=age_s)
    problem = _problem_of(place, manifest, archives, reasons)
    _record(place, catalogue, {**reasons, manifest.id: problem}, own=reasons.keys())
    return Checked(problem=problem, age_s=0)


def _read_all(
    context: NodeContext,
    notify: Notifier,
    place: StoreDirectory,
    catalogue: Catalogue,
    archives: list[str],
    total_bytes: int,
) -> dict[str, str]:
    """Why archives are not what was committed, by id."""
    digests = {one.id: one.archive_digest for one in catalogue.snapshots}
    pace = _Pace(context.monotonic, total_bytes)
    reasons: dict[str, str] = {}
    done_bytes = 0
    for number, archive in enumerate(archives):

        def report(read_bytes: int, number: int = number, before: int = done_bytes) -> None:
            pace.require(before + read_bytes)
            notify.progress("verify", number, len(archives), before + read_bytes, total_bytes)

        problems = verify_bytes(
            place.archive(archive), digest=digests.get(archive), progress=report
        )
        if problems:
            reasons[archive] = problems[0]
        done_bytes += _size(place, archive)
    notify.progress("verify", len(archives), len(archives), total_bytes, total_bytes)
    return reasons


class _Pace:
    """Gives up as soon as it is clear that the time will not do."""

    def __init__(self, monotonic: Callable[[], float], total_bytes: int) -> None:
        self._monotonic = monotonic
        self._total_bytes = total_bytes
        self._began_s = monotonic()

    def require(self, done_bytes: int) -> None:
        """_TooSlow when all of it would take longer than the budget."""
        took_s = self._monotonic() - self._began_s
        is_slow = done_bytes * BUDGET_S < self._total_bytes * took_s
        if took_s > _MEASURE_S and is_slow and self._total_bytes > READ_ALWAYS_BYTES:
            raise _TooSlow


def _problem_of(
    place: StoreDirectory, manifest: Manifest, archives: set[str], reasons: dict[str, str]
) -> str:
    """Damage in another archive counts only where this snapshot reads from it."""
    if not reasons:
        return ""
    if manifest.id in reasons:
        return reasons[manifest.id]
    proven = Proven(place.archive, archives - reasons.keys())
    return next(iter(borrowed_problems(place, manifest, proven)), "")


def _record(
    place: StoreDirectory, catalogue: Catalogue, problems: dict[str, str], own: Collection[str]
) -> None:
    """Notes what was found; `own` are the archives that are damaged themselves."""
    now = iso_time(time.time()) or ""
    known = {one.id for one in catalogue.snapshots}
    found = {one: problem for one, problem in problems.items() if one in known}
    record_verified(
        place,
        [
            Verification(snapshot=one, time=now, problem=problem, is_own=one in own)
            for one, problem in found.items()
        ],
    )


def _warn_of_size(notify: Notifier, snapshot: str, total_bytes: int, age_s: int | None) -> None:
    last = "never" if age_s is None else f"{format_duration(age_s // 60 * 60)} ago"
    message = (
        f"snapshot {snapshot} was last read back {last}; to read its {format_size(total_bytes)} again"
        f" would take too long here: `scratchflow snapshots verify {snapshot}` does it"
    )
    notify.warn("snapshots.not_read_back", b"", message)


def _size(place: StoreDirectory, archive: str) -> int:
    try:
        return os.stat(place.archive(archive)).st_size
    except OSError:
        return 0
