"""Scans the workspace, finds the snapshot that it came from, and decides what has to be stored."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from scratchflow.archive.compare.plan import Plan, plan
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.scan import Scan, ScannedTree
from scratchflow.archive.tree.index import ArchiveFrames, ArchiveUse, Index
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.snapshot import Manifest
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import Catalogue, needed_archives, taken_at
from scratchflow.store.checks.verified import known_damage
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.retention.lineage import lineage_of, newest_full, read_noted
from scratchflow.workspace.notes import cache_path, read_base

# A chain of incrementals of which less than this is still in use is not worth keeping.
MIN_LIVE_SHARE = 0.5


class Parent(msgspec.Struct, frozen=True):
    """The snapshot that the workspace is compared with, and what is known about each of its files."""

    manifest: Manifest
    index: Index
    cache: ScanCache | None
    # What the workspace came from: None when nobody knows, and perhaps gone from the store.
    base: str | None


class PreparedScan(msgspec.Struct, frozen=True):
    """What was begun or read before there was a lock: a scan, and an index like the parent's."""

    scan: Scan
    index: Index


def find_parent(
    context: NodeContext,
    place: StoreDirectory,
    catalogue: Catalogue,
    notify: Notifier,
    like: Index | None = None,
) -> Parent | None:
    """The workspace's base if the store still has it, else the newest whole snapshot.

    A wrong guess costs nothing but room: every file is compared before it is believed. The new snapshot
    does not continue what was only guessed: the work there is another node's, and retention would count
    it as history.
    """
    base = read_base(context.workspace, context.store)
    known = {one.id: one for one in catalogue.snapshots if one.id not in catalogue.own_damage}
    manifest = known.get(base or "") or catalogue.latest_whole
    if manifest is None:
        return None
    try:
        index = open_index(place.archive(manifest.id), like)
    except SnapshotDamaged as error:
        notify.warn("snapshots.damaged", b"", f"{error}; storing everything anew")
        return None
    cache = ScanCache.load(cache_path(context.workspace), index)
    return Parent(manifest, index, cache, base)


def plan_snapshot(
    context: NodeContext,
    place: StoreDirectory,
    catalogue: Catalogue,
    notify: Notifier,
    options: SnapshotOptions,
    prepared: PreparedScan | None = None,
) -> tuple[Parent | None, Plan]:
    """Scans the workspace and decides what has to be stored; reads the parent's index meanwhile."""
    notify.phase("scan")
    with prepared.scan if prepared else begin_scan(context, options.roots or None) as scan:
        parent = find_parent(
            context, place, catalogue, notify, prepared.index if prepared else None
        )
        if parent is None:  # everything will be stored: what does that is loaded meanwhile
            import scratchflow.archive.write.writer  # noqa: F401
        scanned = scan.finish(notify.warn, parent.index if parent else None)
    if parent is None:
        return None, plan(scanned, None, warn=notify.warn)
    full = options.full or _is_on_damaged(place, catalogue, parent, notify)
    planned = plan(scanned, parent.index, parent.cache, warn=notify.warn, full=full, will_cut=True)
    # Asked only now: an unchanged workspace is the common case and should cost no more than a look.
    if planned.full or planned.unchanged or options.never_full:
        return parent, planned
    if not _is_due_for_full(context, place, catalogue, parent):
        return parent, planned
    return parent, planned.in_full()


def _is_on_damaged(
    place: StoreDirectory, catalogue: Catalogue, parent: Parent, notify: Notifier
) -> bool:
    """Whether the parent needs an archive that is known to be damaged: it may not hold its files."""
    if reason := catalogue.damaged.get(parent.manifest.id):
        notify.warn("snapshots.damaged", b"", f"{reason}; everything is stored anew")
        return True
    damaged = known_damage(place, needed_archives(parent.manifest))
    if damaged is not None:
        message = f"snapshot {damaged.snapshot} is damaged; everything is stored anew"
        if damaged.is_doubtful:
            message = (
                f"everything is stored anew: an earlier scratchflow found snapshot {damaged.snapshot} damaged;"
                f" `scratchflow snapshots verify {damaged.snapshot}` says whether it is"
            )
        notify.warn("snapshots.damaged", b"", message)
    return damaged is not None


def scan_workspace(
    context: NodeContext, notify: Notifier, roots: Sequence[str] | None = None
) -> ScannedTree:
    """The workspace and what is saved with it, or the given roots, as they are on disk now."""
    with begin_scan(context, roots) as scan:
        return scan.finish(notify.warn)


def begin_scan(context: NodeContext, roots: Sequence[str] | None) -> Scan:
    """The same scan while the caller does something else."""
    rules = IgnoreRules(context.profile.backup.exclude)
    wanted = context.workspace.roots if roots is None else roots
    return Scan(context.workspace.scratch, wanted, rules)


def _is_due_for_full(
    context: NodeContext, place: StoreDirectory, catalogue: Catalogue, parent: Parent
) -> bool:
    """Whether the line has no full snapshot of the last `full_every`, or most of its bytes are dead."""
    whole = [one for one in catalogue.snapshots if one.id not in catalogue.damaged]
    fulls = {one.id: one for one in whole if one.kind == "full"}
    lineage = lineage_of(catalogue.snapshots, read_noted(place))
    full = newest_full(parent.manifest.id, lineage, fulls.keys())
    full_every = timedelta(seconds=context.profile.backup.full_every.seconds)
    # Also when it is from the future: a clock that was wrong once puts off no full one for years.
    if full is None or abs(context.now() - taken_at(fulls[full])) >= full_every:
        return True
    uses = parent.index.uses()
    stored = sum(
        _stored_bytes(place, *one) for one in zip(parent.index.archives, uses, strict=True)
    )
    return sum(use.live_bytes for use in uses) < stored * MIN_LIVE_SHARE


def _stored_bytes(place: StoreDirectory, frames: ArchiveFrames, use: ArchiveUse) -> int:
    """How much of an archive is in the store: less than the index says when `prune` has rewritten it."""
    try:
        file_bytes = os.stat(place.archive(use.id)).st_size
    except OSError:
        return use.stored_bytes
    packed_bytes = max(1, frames.packed_ends[-1] if frames.packed_ends else 0)
    return use.stored_bytes * min(file_bytes, packed_bytes) // packed_bytes
