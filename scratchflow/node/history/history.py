"""`snapshots list|show`: what is in the store."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import msgspec

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import PathMissing
from scratchflow.model.requests import NOTHING, Nothing, Show
from scratchflow.model.results.snapshots import (
    PathEntry,
    SnapshotRow,
    SnapshotShown,
    SnapshotsListed,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.model.times import iso_time
from scratchflow.node.asker import asker
from scratchflow.node.contents.paths import entry_of, matching
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.holders import SHOWS_PATH, path_in_place_of_snapshot
from scratchflow.node.same_store import refuse_empty_store
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.checks.verified import (
    doubted,
    problems_apart,
    read_verified,
)
from scratchflow.store.directory import find_place
from scratchflow.store.names import find_snapshot
from scratchflow.store.retention.lineage import line_of, lineage_of, read_noted
from scratchflow.store.retention.prune import read_decided
from scratchflow.store.retention.rules import SPECIAL, plan_retention
from scratchflow.store.sizes import bytes_of_snapshots


def list_snapshots(context: NodeContext, notify: Notifier, _: Nothing = NOTHING) -> SnapshotsListed:
    """Every snapshot, oldest first; what cannot be read is a warning. No archive is read."""
    catalogue = warned_catalogue(context, notify)
    place = find_place(context.store, context.workspace.name)
    problems = problems_apart(catalogue, read_verified(place))
    doubts = doubted(place, catalogue.snapshots)
    forks = forks_of(context, catalogue)
    stays = _stays(context, notify, catalogue)
    return SnapshotsListed(
        snapshots=[
            msgspec.structs.replace(
                _row(one, problems.damaged.get(one.id), fork=one.id in forks),
                perhaps_damaged=problems.perhaps.get(one.id),
                stays=stays.get(one.id, []),
                verified=one.verified and one.id not in doubts,
            )
            for one in catalogue.snapshots
        ],
        now=iso_time(context.now().timestamp()),
        store_bytes=bytes_of_snapshots(place),
    )


def forks_of(context: NodeContext, catalogue: Catalogue) -> set[str]:
    """The snapshots with work that went another way than the newest one, from a parent that both have."""
    snapshots = catalogue.snapshots
    noted = {}
    with suppress(ScratchflowError):
        noted = read_noted(find_place(context.store, context.workspace.name))
    lineage, newest = lineage_of(snapshots, noted), catalogue.newest_readable
    continued = set(line_of(newest.id, lineage)) if newest else set()
    beside = {
        one.id for one in snapshots if one.beside
    } - continued  # but for what somebody went back to
    # A fork beside the newest one does not make a fork of what went on from the same parent.
    children = Counter(one.parent for one in snapshots if one.parent and one.id not in beside)
    forks: set[str] = set()
    for one in snapshots:  # the oldest first: what continues a fork is part of it
        goes_apart = children[one.parent or ""] > 1 or lineage.get(one.id) in forks
        if one.id in beside or (goes_apart and one.id not in continued):
            forks.add(one.id)
    return forks


def _stays(context: NodeContext, notify: Notifier, catalogue: Catalogue) -> dict[str, list[str]]:
    """Why snapshots stay that no plain rule keeps."""
    try:
        place = find_place(context.store, context.workspace.name)
        decided = read_decided(place, catalogue.snapshots, context.now())
    except ScratchflowError as error:
        notify.warn("snapshots.marks_unreadable", b"", f"{error}; nothing is pruned")
        return {}
    plan = plan_retention(catalogue, context.profile.backup, decided)
    return {
        snapshot: [reason for reason in reasons if reason in SPECIAL]
        for snapshot, reasons in plan.kept.items()
    }


def show_snapshot(context: NodeContext, notify: Notifier, asked: Show) -> SnapshotShown:
    """One snapshot; with a path also what lies there."""
    place = find_place(context.store, context.workspace.name)
    catalogue = warned_catalogue(context, notify)
    with path_in_place_of_snapshot(context, asked.snapshot, SHOWS_PATH):
        manifest = find_snapshot(catalogue, asked.snapshot, asker(context, notify, asked.zone))
    entries: list[PathEntry] = []
    if asked.path is not None:
        index = open_index(place.archive(manifest.id))
        entries = _entries_at(context, index, asked.path, manifest)
    problems = problems_apart(catalogue, read_verified(place))
    if manifest.id in doubted(place, catalogue.snapshots):
        manifest = msgspec.structs.replace(manifest, verified=False)
    return SnapshotShown(
        manifest=manifest,
        damaged=problems.damaged.get(manifest.id),
        perhaps_damaged=problems.perhaps.get(manifest.id),
        entries=entries,
    )


def warned_catalogue(context: NodeContext, notify: Notifier) -> Catalogue:
    """All snapshots; what cannot be read is a warning, and a store that is away an error."""
    catalogue = read_catalogue(find_place(context.store, context.workspace.name))
    if catalogue.newest_id is None:
        refuse_empty_store(context)
    for one in catalogue.skipped:
        notify.warn("snapshots.unreadable", b"", f"{one.snapshot}: {one.reason}")
    return catalogue


def _row(manifest: Manifest, damaged: str | None, *, fork: bool) -> SnapshotRow:
    return SnapshotRow(
        id=manifest.id,
        time=manifest.time,
        kind=manifest.kind,
        parent=manifest.parent,
        node=manifest.node,
        files=manifest.files,
        bytes=manifest.bytes,
        stored_bytes=manifest.archive_bytes,
        verified=manifest.verified,
        message=manifest.message,
        named=manifest.purpose == "asked" and bool(manifest.message),
        damaged=damaged,
        fork=fork,
        beside=manifest.beside,
    )


def _entries_at(
    context: NodeContext, index: Index, path: str, manifest: Manifest
) -> list[PathEntry]:
    """The path itself, or for a directory what is in it; the empty path is the top.

    A path that is not there from scratch down is one from the workspace down. A glob stands for all it fits.
    """
    if not path.strip("/"):
        return [entry_of(index, entry) for entry in range(index.first[0], index.first[1])]
    entries = matching(index, path, context.workspace)
    if not entries:
        raise PathMissing(snapshot=manifest.id, path=path)
    if len(entries) == 1 and index.mode[entries[0]] & KIND_MASK == DIRECTORY:
        group = index.group_at(entries[0])
        return [entry_of(index, one) for one in range(index.first[group], index.first[group + 1])]
    return [entry_of(index, one) for one in entries]
