"""What is in the workspace goes into a snapshot before a restore replaces it."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager

from scratchflow.archive.restore.displace import Held
from scratchflow.archive.scan.cache import recheck_flags
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import printable
from scratchflow.node.backup import foretell_backup
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.source import Source, saved_roots
from scratchflow.node.same_store import open_store
from scratchflow.node.snapshot.allowed import unfinished_restore
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.node.snapshot.plan import PreparedScan
from scratchflow.node.snapshot.take import (
    Known,
    Saved,
    commit_again,
    save_workspace,
    take_snapshot,
)
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.retention.sweep import sweep
from scratchflow.workspace.staging import occupied_roots

# A scan that was begun so long before there was a lock is begun again.
_STALE_AFTER_S = 1.0


@contextmanager
def locked_store(context: NodeContext, notify: Notifier) -> Iterator[StoreLock]:
    """The store, locked, without what killed runs left."""
    place = open_store(context, notify)
    with context.lock(place, "scratchflow restore", remark=notify.remark) as lock:
        sweep(lock, time.time())
        yield lock


def saves_first(context: NodeContext, source: Source) -> bool:
    """Whether anything is there of which a restore in place takes a snapshot first."""
    roots = saved_roots(context, source.roots)
    return bool(occupied_roots(context.workspace.scratch, roots))


def would_save(context: NodeContext, source: Source) -> bool:
    """For a dry run: whether anything that a restore in place saves first is in no snapshot yet."""
    if not saves_first(context, source):
        return False
    if unfinished_restore(context) is not None:
        return True  # half of two states, which is in none
    roots = saved_roots(context, source.roots)
    options = SnapshotOptions(allow_shrink=True, purpose="safety", roots=roots)
    unheard = Notifier(lambda _: None)  # the restore's own look warns
    return foretell_backup(context, unheard, options).kind != "unchanged"


def save_now(
    context: NodeContext,
    notify: Notifier,
    options: SnapshotOptions,
    prepared: PreparedScan | None = None,
) -> Saved:
    """The workspace as it is, in a snapshot, which is taken unless there is one already."""
    started_s = context.monotonic()
    with locked_store(context, notify) as lock:
        if context.monotonic() - started_s > _STALE_AFTER_S:
            prepared = None  # somebody may have changed something while we waited
        return save_workspace(context, lock, notify, options, prepared)


def commit_restored(
    context: NodeContext, notify: Notifier, manifest: Manifest, known: Known | None
) -> str | None:
    """The state of that snapshot, which has been restored, as a new and newest one.

    Without what is known of the workspace, which has to be all of it, the files are looked at.
    """
    message = f"restored {manifest.id}"
    options = SnapshotOptions(
        allow_shrink=True, message=message, purpose="restored", even_unchanged=True
    )
    with locked_store(context, notify) as lock:
        snapshot = commit_again(context, lock, notify, manifest, known, options) if known else None
        return snapshot or take_snapshot(context, lock, notify, options).snapshot


def safety_snapshot(saved: Saved) -> str | None:
    """Its id if it had to be taken."""
    return None if saved.taken.kind == "unchanged" else saved.taken.snapshot


def held_by(saved: Saved, notify: Notifier) -> Held:
    """What the snapshot that was just taken, or found to be there, holds of the workspace."""
    unsaved = frozenset(path.rstrip(b"/") for path in notify.unreadable)
    return Held(saved.scanned, saved.index, trusted_flags(saved), unsaved)


def trusted_flags(saved: Saved) -> array[int]:
    """Which entries of the scan cannot be trusted; a snapshot that left some out has others."""
    whole = len(saved.flags) == len(saved.scanned)
    return saved.flags if whole else recheck_flags(saved.scanned)


def shown_aside(context: NodeContext, moved: list[bytes]) -> list[str]:
    """Where things were moved aside to, as the user knows the paths."""
    return sorted(printable(context.workspace.scratch / os.fsdecode(path)) for path in moved)
