"""`snapshots import --from-mirror`: snapshots of the mirror come back into the store, under their own ids.

They arrive as those of `snapshots copy` do: beside the others, compared with their SHA-256, and counted only when all archives of a
snapshot are there. Cut off, the next run goes on in the middle of an archive.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from scratchflow.archive.format.container import FOOTER_BYTES, unpack_footer
from scratchflow.archive.malformed import Malformed
from scratchflow.cluster.rclone.remote import Remote
from scratchflow.disk.durable import fsync_directory, write_new
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.events import Progress
from scratchflow.model.requests import ArchiveOf, FetchSnapshots
from scratchflow.model.results.snapshots import SnapshotsFetched
from scratchflow.model.snapshot import Manifest
from scratchflow.node.asker import asker
from scratchflow.node.backup import leave_rescue
from scratchflow.node.context import NodeContext
from scratchflow.node.mirror.mirrored import Mirrored
from scratchflow.node.mirror.target import remote_of
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import open_store
from scratchflow.store.catalogue import Catalogue, needed_archives, read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.commit.arriving import Arriving, adopt, arrived_bytes, has_arrived
from scratchflow.store.commit.commit import publish_manifest
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
from scratchflow.store.retention.sweep import sweep

PHASE = "import"

_Contents = Mapping[str, tuple[Manifest, bytes]]


def fetch_snapshots(
    context: NodeContext, notify: Notifier, asked: FetchSnapshots
) -> SnapshotsFetched:
    """Brings the snapshots that are meant and not here: the named ones, or all."""
    started_s = context.monotonic()
    remote = remote_of(context.settings)
    there = Mirrored(remote)
    contents = there.contents(there.ids)
    wanted = _wanted(context, notify, asked, contents)
    place = find_place(context.store, context.workspace.name)
    forget_old_listing(place)
    here = read_catalogue(place)
    have = {one.id for one in here.snapshots if one.id not in here.damaged}
    fetching = _Fetching(context, notify, remote, there, contents)
    lacking = [one for one in wanted if one.id not in have]
    blocked = [one for one in lacking if fetching.is_blocked(one, place)]
    lacking = [one for one in lacking if one not in blocked]
    fetching.to_fetch = fetching.size_of(lacking, place)
    if lacking and not asked.dry_run:
        fetching.bring(lacking)
    return SnapshotsFetched(
        mirror=remote.directory,
        snapshots=[one.id for one in wanted],
        fetched=[one.id for one in lacking],
        fetched_bytes=fetching.to_fetch if asked.dry_run else fetching.fetched,
        duration_s=round(context.monotonic() - started_s, 3),
        unreadable=[one for one in there.ids if one not in contents],
        blocked=[one.id for one in blocked],
        newest=read_catalogue(place).newest_id,
        dry_run=asked.dry_run,
    )


def _wanted(
    context: NodeContext, notify: Notifier, asked: FetchSnapshots, contents: _Contents
) -> list[Manifest]:
    """Oldest first."""
    listed = tuple(contents[one][0] for one in sorted(contents))
    if asked.every:
        return list(listed)
    catalogue, who = Catalogue(snapshots=listed), asker(context, notify, asked.zone)
    found = {
        one.id: one for one in (find_snapshot(catalogue, name, who) for name in asked.snapshots)
    }
    return [found[one] for one in sorted(found)]


class _Fetching:
    """What comes from one mirror in one run."""

    def __init__(
        self,
        context: NodeContext,
        notify: Notifier,
        remote: Remote,
        there: Mirrored,
        contents: _Contents,
    ) -> None:
        self._context, self._notify = context, notify
        self._remote, self._there, self._contents = remote, there, contents
        self.fetched = 0
        self.to_fetch = 0

    def is_blocked(self, manifest: Manifest, place: StoreDirectory) -> bool:
        """Whether the store has only a part of one of its archives, for other snapshots."""
        for archive in self._archives(manifest):
            with store_errors(place.directory), suppress(FileNotFoundError):
                if place.archive(archive.id).stat().st_size != archive.bytes:
                    return True
        return False

    def size_of(self, snapshots: Sequence[Manifest], place: StoreDirectory) -> int:
        """What has to come for these."""
        needed = {archive.id: archive for one in snapshots for archive in self._archives(one)}
        return sum(
            archive.bytes - arrived_bytes(place, archive)
            for archive in needed.values()
            if not place.archive(archive.id).exists()
        )

    def bring(self, snapshots: Sequence[Manifest]) -> None:
        """One after the other, oldest first: each counts as soon as it is whole."""
        place = self._open()
        awaited = {archive for one in snapshots for archive in needed_archives(one)}
        for one in snapshots:
            archives = [self._arrived(place, archive) for archive in self._archives(one)]
            doing = "scratchflow snapshots import"
            with self._context.lock(place, doing, remark=self._notify.remark) as lock:
                sweep(lock, time.time(), awaited=awaited)
                if not place.manifest(one.id).exists():
                    adopt(lock, archives, same=frozenset())
                    publish_manifest(lock, one, self._contents[one.id][1])
                leave_rescue(place, self._notify)

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
        return open_store(context)

    def _archives(self, manifest: Manifest) -> list[ArchiveOf]:
        return [self._archive(manifest, one) for one in sorted(needed_archives(manifest))]

    def _archive(self, manifest: Manifest, archive: str) -> ArchiveOf:
        """As the manifest of its own snapshot says, or as it is listed where that is gone."""
        found = self._there.archive_bytes(archive)
        known = self._contents.get(archive)
        if found is None or (known and known[0].archive_bytes != found):
            reason = f"the mirror does not have `{archive}{ARCHIVE_SUFFIX}` as it was sent"
            raise SnapshotDamaged(snapshot=manifest.id, reason=reason)
        return ArchiveOf(archive, found, known[0].archive_sha256 if known else "")

    def _arrived(self, place: StoreDirectory, archive: ArchiveOf) -> ArchiveOf:
        if place.archive(archive.id).exists() or has_arrived(place, archive):
            return archive
        offset = arrived_bytes(place, archive)
        if offset == archive.bytes:
            pieces: Iterator[bytes] = iter(())
        else:
            pieces = self._counted(self._remote.pieces(f"{archive.id}{ARCHIVE_SUFFIX}", offset))
        if not archive.sha256:
            pieces = sound(pieces, archive)
        return Arriving(place, archive, offset).take(pieces)

    def _counted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.fetched += len(piece)
            total = max(self.to_fetch, self.fetched)
            self._notify.emit(Progress(phase=PHASE, bytes_done=self.fetched, bytes_total=total))
            yield piece


def sound(pieces: Iterable[bytes], archive: ArchiveOf) -> Iterator[bytes]:
    """The pieces of an archive whose snapshot is gone; SnapshotDamaged at their end if they are not what its footer says."""
    digest, tail, size = hashlib.sha256(), b"", 0
    for piece in pieces:
        size += len(piece)
        tail += piece
        digest.update(tail[:-FOOTER_BYTES])
        tail = tail[-FOOTER_BYTES:]
        yield piece
    try:
        is_sound = unpack_footer(tail, size).content_sha256 == digest.digest()
    except Malformed:
        is_sound = False
    if not is_sound:
        reason = f"`{archive.id}{ARCHIVE_SUFFIX}` on the mirror does not match its own SHA-256"
        raise SnapshotDamaged(snapshot=archive.id, reason=reason)
