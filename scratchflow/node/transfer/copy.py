"""The two ends of `snapshots copy`: a store that offers and gives, and one that says what it lacks, and takes.

Both need their store alone. Archives travel as they are, so a snapshot keeps its id and its chain; every byte is compared
with the SHA-256 in the manifest where it arrives.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable

import msgspec

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
    ArchiveLacking,
    ArchiveTaken,
    SnapshotAdopted,
    SnapshotLacking,
    SnapshotsLacking,
    SnapshotsOffered,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.node.asker import asker
from scratchflow.node.backup import leave_rescue
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import open_store
from scratchflow.store.catalogue import (
    Catalogue,
    decoded_manifest,
    needed_archives,
    read_catalogue,
    read_manifest_file,
)
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.checks.verified import forget_verified, known_damaged
from scratchflow.store.commit.arriving import Arriving, arrived_bytes, has_arrived, sha256_of
from scratchflow.store.commit.arriving import adopt as adopt_arrived
from scratchflow.store.commit.commit import publish_manifest
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.identity import read_store_id
from scratchflow.store.names import find_snapshot
from scratchflow.store.retention.marks import Mark, keep, read_marks
from scratchflow.store.retention.readers import reading
from scratchflow.store.retention.sweep import sweep

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
    here = _Here(place, read_catalogue(place))
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


class _Here:
    """What this store has, and what of it is known to be damaged. Archives are read only where that is in question."""

    def __init__(self, place: StoreDirectory, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._place = place
        self._sha256 = {one.id: one.archive_sha256 for one in catalogue.snapshots}
        self._damaged = {*catalogue.damaged, *known_damaged(place, catalogue.snapshots)}
        self._read: dict[str, str] = {}  # the SHA-256 of archives, as they are

    def lacks(self, wanted: WholeSnapshot) -> SnapshotLacking | None:
        """Which archives of it have to come; None when it is here and not known to be damaged."""
        is_listed = wanted.id in self._sha256
        if is_listed and wanted.id not in self._damaged:
            return None
        missing: list[ArchiveLacking] = []
        own_first = sorted(wanted.archives, key=lambda archive: archive.id != wanted.id)
        for archive in own_first:
            if self._has(archive, in_doubt=is_listed):
                continue
            if self._is_another(archive):
                blocked = is_listed or archive.id == wanted.id
                return SnapshotLacking(wanted.id, [], in_one=True, blocked=blocked)
            arrived = arrived_bytes(self._place, archive)
            missing.append(ArchiveLacking(archive, arrived, has_arrived(self._place, archive)))
        return None if is_listed and not missing else SnapshotLacking(wanted.id, missing)

    def _has(self, archive: ArchiveOf, *, in_doubt: bool) -> bool:
        """Whether that very archive is here. Its bytes are compared when a snapshot that needs it is damaged, or gone:
        then only what others need may be left of it."""
        if not archive.sha256 or not self._place.archive(archive.id).exists():
            return False
        if in_doubt or archive.id in self._damaged or archive.id not in self._sha256:
            if archive.id not in self._read:
                self._read[archive.id] = sha256_of(self._place.archive(archive.id))
            return self._read[archive.id] == archive.sha256
        return self._sha256[archive.id] == archive.sha256

    def _is_another(self, archive: ArchiveOf) -> bool:
        """Whether the archive of this name here is meant to be another one, and not that one damaged."""
        is_here = self._place.archive(archive.id).exists()
        return is_here and (not archive.sha256 or self._sha256.get(archive.id) != archive.sha256)


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
    wanted = asked.snapshot
    _require_same_name(context, [wanted])
    content = wanted.manifest.encode()
    manifest = _decoded(wanted.id, content)
    place = open_store(context)
    with context.lock(place, "scratchflow snapshots copy", remark=notify.remark) as lock:
        awaited = {*asked.awaited, *(archive.id for archive in wanted.archives)}
        sweep(lock, time.time(), awaited=awaited)
        is_new = not place.manifest(wanted.id).exists()
        replaced = adopt_arrived(lock, wanted.archives, same=_same_here(place, wanted.archives))
        if is_new:
            publish_manifest(lock, manifest, content)
        elif replaced:
            forget_verified(place, [wanted.id])  # what was found is not so any more
        if wanted.kept:
            keep(place, Mark(snapshot=wanted.id, why="asked", time=manifest.time))
        leave_rescue(place, notify)
        newest = read_catalogue(place).newest_id
    return SnapshotAdopted(snapshot=wanted.id, is_new=is_new, newest=newest)


def _same_here(place: StoreDirectory, archives: Iterable[ArchiveOf]) -> frozenset[str]:
    """Those that the manifests of this store mean as well: what lies here under their names is they, or is damaged."""
    here = {one.id: one.archive_sha256 for one in read_catalogue(place).snapshots}
    return frozenset(one.id for one in archives if one.sha256 and here.get(one.id) == one.sha256)


def _decoded(snapshot: str, content: bytes) -> Manifest:
    try:
        return decoded_manifest(snapshot, content)
    except (ValueError, msgspec.MsgspecError) as error:
        raise RequestRefused(reason=f"the manifest of `{snapshot}`: {error}") from None
