"""Carrying out a retention plan: manifests first, then the archives that nothing needs any more."""

from __future__ import annotations

import os
from contextlib import suppress

from scratchflow.disk.durable import fsync_directory
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.failures import store_errors
from scratchflow.store.lock import StoreLock
from scratchflow.store.place import Place
from scratchflow.store.retention import KeepRules, Retention, plan_retention


def prune(lock: StoreLock, rules: KeepRules) -> Retention:
    """Removes what the rules do not keep, and returns what was done.

    Killed in between, snapshots are gone from the list and their archives are left without a
    manifest, for `sweep`; never the other way round. For a dry run: `plan_retention` of the
    catalogue.
    """
    lock.assert_held()
    plan = plan_retention(read_catalogue(lock.place), rules)
    with store_errors(lock.place.directory):
        _remove_manifests(lock.place, plan.removed)
    if plan.unneeded_archives:
        lock.assert_held()
    with store_errors(lock.place.directory):
        _remove_archives(lock.place, plan.unneeded_archives)
    return plan


def _remove_manifests(place: Place, snapshots: tuple[str, ...]) -> None:
    for snapshot in snapshots:
        with suppress(FileNotFoundError):
            os.unlink(place.manifest(snapshot))
    if snapshots:
        # An archive must not be gone on disk while a manifest that needs it is still there.
        fsync_directory(place.directory)


def _remove_archives(place: Place, archives: tuple[str, ...]) -> None:
    for archive in archives:
        with suppress(FileNotFoundError):  # a damaged snapshot may have lost it before
            os.unlink(place.archive(archive))
    if archives:
        fsync_directory(place.directory)
