"""The two ends of `snapshots copy`: a store that offers and gives, and one that says what it lacks, and takes.

Both need their store alone. Archives travel as they are, so a snapshot keeps its id and its chain; every byte is compared,
where it is read and where it arrives, with the digest in the manifest, or with the one in the footer where that is gone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.own_digest import ArchiveDigest, footer_of
from scratchflow.disk.durable import is_there
from scratchflow.model.errors.agent import RequestRefused
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.errors.transfer import named_otherwise
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
from scratchflow.model.text import printable
from scratchflow.model.times import iso_time
from scratchflow.node.asker import asker
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import open_store
from scratchflow.node.transfer.here import Here, adopt_whole
from scratchflow.node.transfer.unfinished import given_up_when_full
from scratchflow.store.catalogue import (
    Catalogue,
    needed_archives,
    read_catalogue,
    read_manifest_file,
)
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.checks.verified import Verification, damaged_archives, record_verified
from scratchflow.store.checks.writable import write_failure
from scratchflow.store.commit.arriving import Arriving, room_bytes
from scratchflow.store.directory import ARCHIVE_SUFFIX, StoreDirectory, find_place
from scratchflow.store.failures import store_errors
from scratchflow.store.identity import read_store_id
from scratchflow.store.names import find_snapshot
from scratchflow.store.retention.lineage import parents_known, read_noted
from scratchflow.store.retention.marks import read_marks
from scratchflow.store.retention.newer import is_unused, work_of
from scratchflow.store.retention.readers import reading

_PIECE_BYTES = 1 << 18
_DOING = "scratchflow snapshots copy"


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
        along = _built_on(catalogue, found)
        wanted = sorted([*found.values(), *along], key=lambda one: one.id)
    else:
        along = []
        wanted = [one for one in catalogue.snapshots if one.id not in catalogue.damaged]
    offering = _Offering(place, catalogue)
    snapshots: list[WholeSnapshot] = []
    damaged = set() if asked.snapshots else set(catalogue.damaged)
    for one in wanted:
        try:
            snapshots.append(offering.whole(one))
        except SnapshotDamaged:
            if asked.snapshots:
                raise
            damaged.add(one.id)
    return SnapshotsOffered(
        snapshots=snapshots,
        along=[one.id for one in along],
        damaged=sorted(damaged),
        unreadable={} if asked.snapshots else catalogue.unreadable,
        doubted=sorted(damaged_archives(place, catalogue.snapshots)),
        store_id=read_store_id(place),
        parents=parents_known(catalogue.snapshots, read_noted(place)),
    )


def _built_on(catalogue: Catalogue, wanted: Mapping[str, Manifest]) -> list[Manifest]:
    """The full snapshots whose archives these need. Without one in its line of history, the next backup in the other store would be full."""
    needed = {archive for one in wanted.values() for archive in needed_archives(one)}
    return [
        one
        for one in catalogue.snapshots
        if one.kind == "full" and one.id in needed and one.id not in wanted
    ]


class _Offering:
    """Snapshots of a store as they can be copied. Of each archive the footer is read, once."""

    def __init__(self, place: StoreDirectory, catalogue: Catalogue) -> None:
        self._place = place
        self._marks = read_marks(place)
        self._manifests = {one.id: one for one in catalogue.snapshots}
        self._archives: dict[str, ArchiveOf] = {}

    def whole(self, manifest: Manifest) -> WholeSnapshot:
        """The snapshot; SnapshotDamaged when one of its archives does not even end as one."""
        needed = sorted(needed_archives(manifest))
        return WholeSnapshot(
            id=manifest.id,
            workspace=manifest.workspace,
            manifest=read_manifest_file(self._place, manifest.id).decode(),
            archives=[self._archive(manifest.id, one) for one in needed],
            kept=manifest.id in self._marks,
        )

    def _archive(self, snapshot: str, archive: str) -> ArchiveOf:
        if archive not in self._archives:
            file = self._place.archive(archive)
            try:
                footer = footer_of(file)
            except (Malformed, OSError) as error:
                problem = error.strerror if isinstance(error, OSError) else error
                reason = f"`{archive}{ARCHIVE_SUFFIX}`: {problem}"
                raise SnapshotDamaged(snapshot=snapshot, reason=reason) from error
            known = self._manifests.get(archive)
            size = known.archive_bytes if known else file.stat().st_size
            digest = known.archive_digest if known else ""
            own_digest = footer.content_digest
            is_remnant = footer.is_remnant
            self._archives[archive] = ArchiveOf(archive, size, digest, own_digest, is_remnant)
        return self._archives[archive]


def lacking(context: NodeContext, _: Notifier, asked: Lacking) -> SnapshotsLacking:
    """What is not here of these, or is damaged here; WorkspaceNamedOtherwise when they are of a workspace of another name."""
    place = find_place(context.store, context.workspace.name)
    _require_same_name(context, asked.snapshots)
    forget_old_listing(place)
    here = Here(place, read_catalogue(place), takes_parts=True)
    found = [lack for one in asked.snapshots if (lack := here.lacks(one)) is not None]
    if found:
        _require_writable(place)
    return SnapshotsLacking(
        snapshots=found,
        newest=here.catalogue.newest_id,
        newest_work=_newest_work(place, here.catalogue),
        store_id=read_store_id(place),
        room_bytes=room_bytes(place),
        directory=printable(place.directory),
    )


def _newest_work(place: StoreDirectory, catalogue: Catalogue) -> str | None:
    """The snapshot whose work the newest one holds; None when that is no work, but a workspace that was made empty."""
    parents = parents_known(catalogue.snapshots, read_noted(place))
    is_no_work = is_unused(place, catalogue, parents, catalogue.newest_id)
    return None if is_no_work else work_of(catalogue, catalogue.newest_id)


def _require_writable(place: StoreDirectory) -> None:
    """Before anything is begun, and for a dry run. Of a full store, whoever asks says how much would come.

    Of one that is yet to be made, it is the directory in which it would be made.
    """
    for directory in (place.directory, *place.directory.parents):
        with store_errors(directory):
            if not is_there(directory):
                continue
        failure = write_failure(directory)
        if failure is not None and not isinstance(failure, NoSpace):
            raise failure
        return


def _require_same_name(context: NodeContext, snapshots: Iterable[WholeSnapshot]) -> None:
    for one in snapshots:
        if one.workspace != context.workspace.name:
            here = context.workspace.name
            raise named_otherwise(one.workspace, to=context.settings.name, here=here)


def give(context: NodeContext, notify: Notifier, asked: GiveArchive) -> ArchiveGiven:
    """Sends an archive as `Data` events. It is held against `prune` meanwhile."""
    place = find_place(context.store, context.workspace.name)
    catalogue = read_catalogue(place)
    manifest = catalogue.by_id(asked.snapshot)
    if asked.archive not in needed_archives(manifest):
        raise RequestRefused(reason=f"`{asked.snapshot}` does not need `{asked.archive}`")
    archives = sorted(needed_archives(manifest))
    with reading(place, manifest.id, archives, token=context.token(16)):
        digest = _give(place, notify, asked)
    known = {one.id: one for one in catalogue.snapshots}.get(asked.archive)
    problem = _problem(asked.archive, digest, known)
    if problem and known:  # `status` and `snapshots list` show it from now on
        now = iso_time(time.time()) or ""
        found = Verification(snapshot=known.id, time=now, problem=problem, is_own=True)
        record_verified(place, [found])
    return ArchiveGiven(size_bytes=digest.size_bytes, digest=digest.digest, problem=problem)


def _give(place: StoreDirectory, notify: Notifier, asked: GiveArchive) -> ArchiveDigest:
    path = place.archive(asked.archive)
    known = ""
    with suppress(Malformed):  # what is wrong with it shows at its end
        known = footer_of(path).content_digest
    digest = ArchiveDigest([known])
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE_BYTES):
            rest = piece[max(0, asked.offset - digest.size_bytes) :]
            digest.update(piece)
            if rest:
                notify.emit(Data(content=rest))
                notify.emit(Progress(phase="copy", bytes_done=digest.size_bytes))
    return digest


def _problem(archive: str, found: ArchiveDigest, known: Manifest | None) -> str:
    """What is wrong with an archive that was read; empty when it is as it was written."""
    name = f"`{archive}{ARCHIVE_SUFFIX}`"
    if known and found.digest != known.archive_digest:
        return f"{name} does not match the digest in its manifest"
    return "" if found.own_digest else f"{name} does not match its own digest"


def take(context: NodeContext, notify: Notifier, asked: TakeArchive) -> ArchiveTaken:
    """Takes an archive in beside the others; it counts when its snapshot is adopted."""
    if context.received is None:
        raise RequestRefused(reason="no archive came with the request")
    place = open_store(context, notify)
    arriving = Arriving(place, asked.archive, asked.offset, asked.needed_bytes)
    with given_up_when_full(context, notify, place, asked.beside, doing=_DOING):
        taken = arriving.take(context.received)
    return ArchiveTaken(size_bytes=taken.bytes, digest=taken.digest)


def adopt(context: NodeContext, notify: Notifier, asked: Adopt) -> SnapshotAdopted:
    """The snapshot is one of this store from here on, if all its archives have arrived."""
    _require_same_name(context, [asked.snapshot])
    return adopt_whole(
        context,
        notify,
        asked.snapshot,
        doing=_DOING,
        awaited=asked.awaited,
        serving=asked.serving,
        parents=asked.parents,
    )
