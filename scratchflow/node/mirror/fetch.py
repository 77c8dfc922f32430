"""`snapshots import --from-mirror`: snapshots of the mirror come back into the store, under their own ids.

They arrive as those of `snapshots copy` do: beside the others, compared with their digests, and counted only when all archives of a
snapshot are there. What is known to be damaged in the store is brought again. Cut off, the next run goes on in the middle of an archive.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import msgspec

from scratchflow.archive.read.own_digest import ArchiveDigest
from scratchflow.cluster.rclone.remote import Remote, beneath
from scratchflow.disk.durable import fsync_directory, write_new
from scratchflow.model.errors.snapshots import (
    DamagedOnMirror,
    LatestUnreadable,
    NothingOnMirror,
    SnapshotDamaged,
)
from scratchflow.model.events import Progress
from scratchflow.model.requests import ArchiveOf, FetchSnapshots, WholeSnapshot
from scratchflow.model.results.snapshots import SnapshotsFetched
from scratchflow.model.results.transfer import ArchiveLacking, SnapshotLacking
from scratchflow.model.snapshot import Manifest
from scratchflow.node.asker import asker
from scratchflow.node.context import NodeContext
from scratchflow.node.mirror.mirrored import Mirrored
from scratchflow.node.mirror.target import remote_of
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import open_store
from scratchflow.node.transfer.here import Here, adopt_whole
from scratchflow.node.transfer.unfinished import given_up_when_full
from scratchflow.store.catalogue import Catalogue, Skipped, needed_archives, read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.commit.arriving import Arriving, digest_of
from scratchflow.store.directory import (
    ARCHIVE_SUFFIX,
    FILE_MODE,
    STORE_NAME,
    StoreDirectory,
    find_place,
    open_place,
)
from scratchflow.store.failures import store_errors
from scratchflow.store.identity import StoreNote, has_snapshots, read_store_id
from scratchflow.store.names import find_snapshot
from scratchflow.store.retention.lineage import parents_known

PHASE = "import"
_READ_BYTES = 1 << 20

_Contents = Mapping[str, tuple[Manifest, bytes]]


def fetch_snapshots(
    context: NodeContext, notify: Notifier, asked: FetchSnapshots
) -> SnapshotsFetched:
    """Brings the snapshots that are meant and not here, or damaged here: the named ones, or all."""
    started_s = context.monotonic()
    remote = remote_of(context.settings)
    there = Mirrored(remote)
    contents = _of_workspace(there, context.workspace.name)
    unreadable = [
        Skipped(one, there.reasons.get(one, "its manifest is no file"))
        for one in there.ids
        if one not in contents
    ]
    if not there.ids:
        raise NothingOnMirror(mirror=remote.directory)
    wanted = _wanted(context, notify, asked, contents, unreadable, remote.directory)
    place = find_place(context.store, context.workspace.name)
    forget_old_listing(place)
    fetching = _Fetching(context, notify, remote, there, contents, skips_damaged=asked.every)
    fetching.plan(wanted, place)
    if fetching.coming and not asked.dry_run:
        fetching.bring()
    return SnapshotsFetched(
        mirror=remote.directory,
        snapshots=[one.id for one in wanted],
        fetched=[one.id for one in fetching.coming if one.id not in fetching.damaged],
        fetched_bytes=fetching.to_fetch if asked.dry_run else fetching.fetched,
        duration_s=round(context.monotonic() - started_s, 3),
        unreadable={one.snapshot: one.reason for one in unreadable},
        blocked=fetching.blocked,
        newest=read_catalogue(place).newest_id,
        dry_run=asked.dry_run,
        mended=sorted(fetching.mended),
        damaged=fetching.damaged,
        in_the_way=fetching.in_the_way,
    )


def _of_workspace(there: Mirrored, workspace: str) -> _Contents:
    """What can be read there. Paths in a snapshot begin with its workspace's name: one of another name is none of ours."""
    contents = there.contents(there.ids)
    for one, (manifest, _) in contents.items():
        if manifest.workspace != workspace:
            there.reasons[one] = f"it is of a workspace named `{manifest.workspace}`"
    return {one: found for one, found in contents.items() if one not in there.reasons}


def _wanted(
    context: NodeContext,
    notify: Notifier,
    asked: FetchSnapshots,
    contents: _Contents,
    unreadable: Sequence[Skipped],
    mirror: str,
) -> list[Manifest]:
    """Oldest first; one whose manifest cannot be read is never passed over for an older one."""
    listed = tuple(contents[one][0] for one in sorted(contents))
    if asked.every:
        return list(listed)
    catalogue = Catalogue(snapshots=listed, skipped=tuple(unreadable))
    who = asker(context, notify, asked.zone)
    try:
        meant = [find_snapshot(catalogue, name, who) for name in asked.snapshots]
    except LatestUnreadable as error:
        raise _newest_unreadable(catalogue, error, mirror) from None
    found = {one.id: one for one in meant}
    return [found[one] for one in sorted(found)]


def _newest_unreadable(
    catalogue: Catalogue, error: LatestUnreadable, mirror: str
) -> LatestUnreadable:
    """The same, with what helps where the manifest lies on a mirror."""
    next_step = "while a store has it, `scratchflow snapshots mirror` from there sends it again"
    if older := catalogue.newest_readable:
        next_step += f"; the one before it is `{older.id}`: named so, it comes"
    snapshot, reason = error.fields["snapshot"], f"on `{mirror}`, {error.fields['reason']}"
    return LatestUnreadable(snapshot=snapshot, reason=reason, next_step=next_step)


class _Fetching:
    """What comes from one mirror in one run."""

    def __init__(
        self,
        context: NodeContext,
        notify: Notifier,
        remote: Remote,
        there: Mirrored,
        contents: _Contents,
        *,
        skips_damaged: bool,
    ) -> None:
        """With `skips_damaged` those that are damaged on the mirror are noted, and the others come."""
        self._context, self._notify = context, notify
        self._remote, self._there, self._contents = remote, there, contents
        self._skips_damaged = skips_damaged
        self._whole: dict[str, WholeSnapshot] = {}
        self._sound_here: dict[str, ArchiveOf] = {}
        self._arrived: set[str] = set()
        self._damaged_archives: set[str] = set()
        self.coming: list[SnapshotLacking] = []
        self.blocked: list[str] = []
        self.in_the_way: dict[str, str] = {}
        self.damaged: list[str] = []
        self.mended: set[str] = set()
        self.fetched = 0
        self.to_fetch = 0

    def plan(self, wanted: Sequence[Manifest], place: StoreDirectory) -> None:
        """Finds out what has to come for these."""
        here = Here(place, read_catalogue(place))
        for manifest in wanted:
            if here.has(manifest.id):
                continue
            with self._noting_damage(manifest.id):
                whole = self._whole[manifest.id] = self._as_there(manifest, place)
                lacking = here.lacks(whole)
                if lacking is not None and lacking.in_the_way:
                    self.in_the_way[manifest.id] = lacking.in_the_way
                # No store can give it as one full archive here.
                elif lacking is not None and lacking.in_one:
                    self.blocked.append(manifest.id)
                elif lacking is not None:
                    self.coming.append(lacking)
        missing = {one.archive.id: one for each in self.coming for one in each.archives}
        self.to_fetch = sum(one.archive.bytes - one.arrived_bytes for one in missing.values())

    def bring(self) -> None:
        """One after the other, oldest first: each counts as soon as it is whole."""
        place = self._open()
        coming = [self._whole[one.id] for one in self.coming]
        awaited = {archive.id for one in coming for archive in one.archives}
        doing = "scratchflow snapshots import"
        parents = parents_known([manifest for manifest, _ in self._contents.values()], {})
        for one in self.coming:
            with self._noting_damage(one.id):
                arriving = [lacking.archive.id for lacking in one.archives]
                with given_up_when_full(self._context, self._notify, place, arriving, doing=doing):
                    for lacking in one.archives:
                        self._bring(place, one.id, lacking)
                adopted = adopt_whole(
                    self._context,
                    self._notify,
                    self._whole[one.id],
                    doing=doing,
                    awaited=awaited,
                    parents=parents,
                )
                self.mended.update(adopted.mended)

    @contextmanager
    def _noting_damage(self, snapshot: str) -> Iterator[None]:
        try:
            yield
        except SnapshotDamaged:
            if not self._skips_damaged:
                raise
            self.damaged.append(snapshot)

    def _open(self) -> StoreDirectory:
        """The store. One that is new becomes the one that the mirror is of, and goes on with it."""
        context = self._context
        store_id = self._there.store_id()
        place = find_place(context.store, context.workspace.name)
        if store_id and read_store_id(place) is None and not has_snapshots(place):
            place = open_place(context.store, context.workspace.name)
            file = place.directory / STORE_NAME
            with store_errors(file), suppress(FileExistsError):
                write_new(file, msgspec.json.encode(StoreNote(store_id)) + b"\n", mode=FILE_MODE)
                fsync_directory(place.directory)
        return open_store(context, self._notify)

    def _as_there(self, manifest: Manifest, place: StoreDirectory) -> WholeSnapshot:
        archives = [
            self._archive(manifest, one, place) for one in sorted(needed_archives(manifest))
        ]
        content = self._contents[manifest.id][1].decode()
        return WholeSnapshot(manifest.id, manifest.workspace, content, archives)

    def _archive(self, manifest: Manifest, archive: str, place: StoreDirectory) -> ArchiveOf:
        """As the manifest of its own snapshot says, or as it is listed where that is gone."""
        found = self._there.archive_bytes(archive)
        known = self._contents.get(archive)
        if found is None or (known and known[0].archive_bytes != found):
            raise self._damaged_there(manifest.id, archive, "is missing, or not as large as it was")
        if known:
            return ArchiveOf(archive, found, known[0].archive_digest)
        if archive not in self._sound_here:
            self._sound_here[archive] = _as_here(place, ArchiveOf(archive, found))
        return self._sound_here[archive]

    def _bring(self, place: StoreDirectory, snapshot: str, lacking: ArchiveLacking) -> None:
        archive = lacking.archive
        if archive.id in self._arrived or lacking.is_whole:
            return
        if archive.id not in self._damaged_archives:
            try:
                self._bring_from(place, archive, lacking.arrived_bytes)
            except SnapshotDamaged:
                self._damaged_archives.add(archive.id)
            else:
                self._arrived.add(archive.id)
                return
        meant = "the digest in its manifest" if archive.digest else "its own digest"
        raise self._damaged_there(snapshot, archive.id, f"does not match {meant}")

    def _damaged_there(self, snapshot: str, archive: str, what: str) -> DamagedOnMirror:
        name = f"{archive}{ARCHIVE_SUFFIX}"
        file = shlex.quote(beneath(self._remote.directory, name))
        reason = f"`{name}` on the mirror `{self._remote.directory}` {what}"
        return DamagedOnMirror(snapshot=snapshot, reason=reason, archive=name, file=file)

    def _bring_from(self, place: StoreDirectory, archive: ArchiveOf, offset: int) -> None:
        """From where an earlier run left off; from its beginning when that was not the beginning of it."""
        try:
            self._take(place, archive, offset)
        except SnapshotDamaged:
            if not offset:
                raise
            self._take(place, archive, 0)

    def _take(self, place: StoreDirectory, archive: ArchiveOf, offset: int) -> None:
        if offset == archive.bytes:
            pieces: Iterator[bytes] = iter(())
        else:
            pieces = self._counted(self._remote.pieces(f"{archive.id}{ARCHIVE_SUFFIX}", offset))
        if not archive.digest:
            pieces = sound(pieces, archive)
        Arriving(place, archive, offset).take(pieces)

    def _counted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.fetched += len(piece)
            total = max(self.to_fetch, self.fetched)
            self._notify.emit(Progress(phase=PHASE, bytes_done=self.fetched, bytes_total=total))
            yield piece


def sound(pieces: Iterable[bytes], archive: ArchiveOf) -> Iterator[bytes]:
    """The pieces of an archive whose snapshot is gone; SnapshotDamaged at their end if they are not what its footer says."""
    digest = ArchiveDigest()
    for piece in pieces:
        digest.update(piece)
        yield piece
    if not digest.own_digest:
        reason = f"`{archive.id}{ARCHIVE_SUFFIX}` on the mirror does not match its own digest"
        raise SnapshotDamaged(snapshot=archive.id, reason=reason)


def _as_here(place: StoreDirectory, archive: ArchiveOf) -> ArchiveOf:
    """An archive that no manifest on the mirror tells the digest of: with that of the one here, if that is as large and sound."""
    file = place.archive(archive.id)
    with store_errors(file), suppress(FileNotFoundError):
        if file.stat().st_size == archive.bytes and (found := digest_of(file)).own_digest:
            return msgspec.structs.replace(archive, digest=found.digest)
    return archive
