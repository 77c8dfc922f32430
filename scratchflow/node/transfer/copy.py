"""The two ends of `snapshots copy`: a store that offers and gives, and one that says what it lacks, and takes.

Both need their store alone. Archives travel as they are, so a snapshot keeps its id and its chain; every byte is compared
with the SHA-256 in the manifest where it arrives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from scratchflow.model.errors.agent import RequestRefused
from scratchflow.model.errors.transfer import WorkspaceNamedOtherwise
from scratchflow.model.events import Data, Progress
from scratchflow.model.requests import (
    Adopt,
    ArchiveOf,
    GiveArchive,
    Lacking,
    Offer,
    TakeArchive,
    WholeSnapshot,
)
from scratchflow.model.results.transfer import (
    ArchiveGiven,
    ArchiveTaken,
    SnapshotAdopted,
    SnapshotsLacking,
    SnapshotsOffered,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.node.asker import asker
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import open_store
from scratchflow.node.transfer.here import Here, adopt_whole
from scratchflow.store.catalogue import (
    Catalogue,
    needed_archives,
    read_catalogue,
    read_manifest_file,
)
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.commit.arriving import Arriving
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.identity import read_store_id
from scratchflow.store.names import find_snapshot
from scratchflow.store.retention.lineage import parents_known, read_noted
from scratchflow.store.retention.marks import read_marks
from scratchflow.store.retention.readers import reading

_PIECE_BYTES = 1 << 18


def offer(context: NodeContext, notify: Notifier, asked: Offer) -> SnapshotsOffered:
    """The snapshots that are meant, oldest first; without names every one that is whole."""
    place = find_place(context.store, context.workspace.name)
    forget_old_listing(place)
    catalogue = read_catalogue(place)
    if asked.snapshots:
        who = asker(context, notify, asked.zone)
        found = {
            one.id: one for one in (find_snapshot(catalogue, name, who) for name in asked.snapshots)
        }
        for one in found.values():
            catalogue.require_whole(one)
        wanted = sorted(found.values(), key=lambda one: one.id)
    else:
        wanted = [one for one in catalogue.snapshots if one.id not in catalogue.damaged]
    marks = read_marks(place)
    return SnapshotsOffered(
        snapshots=[_whole(place, catalogue, one, kept=one.id in marks) for one in wanted],
        damaged=[] if asked.snapshots else sorted(catalogue.damaged),
        store_id=read_store_id(place),
        parents=parents_known(catalogue.snapshots, read_noted(place)),
    )


def _whole(
    place: StoreDirectory, catalogue: Catalogue, manifest: Manifest, *, kept: bool
) -> WholeSnapshot:
    known = {one.id: one for one in catalogue.snapshots}
    return WholeSnapshot(
        id=manifest.id,
        workspace=manifest.workspace,
        manifest=read_manifest_file(place, manifest.id).decode(),
        archives=[_archive(place, one, known) for one in sorted(needed_archives(manifest))],
        kept=kept,
    )


def _archive(place: StoreDirectory, archive: str, known: dict[str, Manifest]) -> ArchiveOf:
    manifest = known.get(archive)
    if manifest is not None:
        return ArchiveOf(archive, manifest.archive_bytes, manifest.archive_sha256)
    return ArchiveOf(archive, place.archive(archive).stat().st_size)


def lacking(context: NodeContext, _: Notifier, asked: Lacking) -> SnapshotsLacking:
    """What is not here of these, or is damaged here; WorkspaceNamedOtherwise when they are of a workspace of another name."""
    place = find_place(context.store, context.workspace.name)
    _require_same_name(context, asked.snapshots)
    forget_old_listing(place)
    here = Here(place, read_catalogue(place))
    found = [here.lacks(one) for one in asked.snapshots]
    return SnapshotsLacking(
        snapshots=[one for one in found if one is not None],
        newest=here.catalogue.newest_id,
        store_id=read_store_id(place),
    )


def _require_same_name(context: NodeContext, snapshots: Iterable[WholeSnapshot]) -> None:
    for one in snapshots:
        if one.workspace != context.workspace.name:
            raise WorkspaceNamedOtherwise(name=one.workspace, here=context.workspace.name)


def give(context: NodeContext, notify: Notifier, asked: GiveArchive) -> ArchiveGiven:
    """Sends an archive as `Data` events. It is held against `prune` meanwhile."""
    place = find_place(context.store, context.workspace.name)
    manifest = read_catalogue(place).by_id(asked.snapshot)
    if asked.archive not in needed_archives(manifest):
        raise RequestRefused(reason=f"`{asked.snapshot}` does not need `{asked.archive}`")
    archives = sorted(needed_archives(manifest))
    with reading(place, manifest.id, archives, token=context.token(16)):
        return _give(place, notify, asked)


def _give(place: StoreDirectory, notify: Notifier, asked: GiveArchive) -> ArchiveGiven:
    digest = hashlib.sha256()
    at = 0
    with place.archive(asked.archive).open("rb", buffering=0) as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
            rest = piece[max(0, asked.offset - at) :]
            at += len(piece)
            if rest:
                notify.emit(Data(content=rest))
                notify.emit(Progress(phase="copy", bytes_done=at))
    return ArchiveGiven(size_bytes=at, sha256=digest.hexdigest())


def take(context: NodeContext, _: Notifier, asked: TakeArchive) -> ArchiveTaken:
    """Takes an archive in beside the others; it counts when its snapshot is adopted."""
    if context.received is None:
        raise RequestRefused(reason="no archive came with the request")
    place = open_store(context)
    taken = Arriving(place, asked.archive, asked.offset).take(context.received)
    return ArchiveTaken(size_bytes=taken.bytes, sha256=taken.sha256)


def adopt(context: NodeContext, notify: Notifier, asked: Adopt) -> SnapshotAdopted:
    """The snapshot is one of this store from here on, if all its archives have arrived."""
    _require_same_name(context, [asked.snapshot])
    doing = "scratchflow snapshots copy"
    return adopt_whole(
        context,
        notify,
        asked.snapshot,
        doing=doing,
        awaited=asked.awaited,
        parents=asked.parents,
    )
