"""Carrying out a retention plan: manifests first, then the archives that nothing needs any more."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import datetime, timezone

import msgspec

from scratchflow.disk.durable import fsync_directory
from scratchflow.model.snapshot import Manifest
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import known_damaged, note_damaged_archives
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.jobs.needed import needed_by_jobs
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.retention.lineage import read_noted, write_noted
from scratchflow.store.retention.marks import read_marks
from scratchflow.store.retention.readers import held_archives, held_snapshots
from scratchflow.store.retention.rules import (
    Decided,
    KeepRules,
    Retention,
    plan_removal,
    plan_retention,
)


def prune(lock: StoreLock, rules: KeepRules, now: datetime | None = None) -> Retention:
    """Removes what the rules do not keep, and returns what was done.

    Killed in between, snapshots are gone from the list and their archives are left without a
    manifest, for `sweep`; never the other way round. When the marks cannot be read, StoreUnusable
    is raised and nothing is removed. For a dry run: `plan_prune`.
    """
    lock.assert_held()
    return _carry_out(lock, plan_prune(lock.place, rules, now))


def plan_prune(place: StoreDirectory, rules: KeepRules, now: datetime | None = None) -> Retention:
    """What `prune` would do now."""
    catalogue = read_catalogue(place)
    return plan_retention(catalogue, rules, read_decided(place, catalogue.snapshots, now))


def read_decided(
    place: StoreDirectory, snapshots: Iterable[Manifest], now: datetime | None = None
) -> Decided:
    """What retention has to know beside the manifests."""
    return Decided(
        marks=read_marks(place),
        damaged=known_damaged(place, snapshots),
        noted=read_noted(place),
        jobs=needed_by_jobs(place),
        now=now or datetime.now(timezone.utc),
    )


def remove(lock: StoreLock, snapshots: Collection[str]) -> Retention:
    """Removes these snapshots, whatever the rules say. Who asks has looked for marks."""
    lock.assert_held()
    return _carry_out(lock, plan_remove(lock.place, snapshots))


def plan_remove(place: StoreDirectory, snapshots: Collection[str]) -> Retention:
    """What `remove` would do now."""
    return plan_removal(read_catalogue(place), snapshots, read_noted(place))


def _carry_out(lock: StoreLock, plan: Retention) -> Retention:
    """Removes what the plan says, except what a restore reads at this moment; returns what was done."""
    held = held_snapshots(lock.place)
    removed = tuple(one for one in plan.removed if one not in held)
    if removed:
        write_noted(lock.place, plan.lineage)
        note_damaged_archives(lock.place, plan.damaged_archives)
    with store_errors(lock.place.directory):
        _remove_manifests(lock.place, removed)
    # Asked after that: a restore that saw a manifest before it was removed has said so by now.
    in_use = held_archives(lock.place)
    unneeded = tuple(one for one in plan.unneeded_archives if one not in in_use)
    if unneeded:
        lock.assert_held()
    with store_errors(lock.place.directory):
        _remove_archives(lock.place, unneeded)
    return msgspec.structs.replace(plan, removed=removed, unneeded_archives=unneeded)


def _remove_manifests(place: StoreDirectory, snapshots: tuple[str, ...]) -> None:
    for snapshot in snapshots:
        with suppress(FileNotFoundError):
            os.unlink(place.manifest(snapshot))
    if snapshots:
        # An archive must not be gone on disk while a manifest that needs it is still there.
        fsync_directory(place.directory)


def _remove_archives(place: StoreDirectory, archives: tuple[str, ...]) -> None:
    for archive in archives:
        with suppress(FileNotFoundError):  # a damaged snapshot may have lost it before
            os.unlink(place.archive(archive))
    if archives:
        fsync_directory(place.directory)
