"""Snapshots that come from elsewhere, from another store or from the mirror: what this store lacks of them, and how they become its own.

Archives that are damaged here are brought again, and every snapshot that needs them is whole afterwards.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.archive.format.container import Footer
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.archive_file import archives_read
from scratchflow.archive.read.own_digest import ArchiveDigest, footer_of
from scratchflow.archive.read.proven import Proven
from scratchflow.disk.durable import is_there
from scratchflow.model.errors.agent import RequestRefused
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.transfer import InTheWay
from scratchflow.model.requests import ArchiveOf, WholeSnapshot
from scratchflow.model.results.transfer import ArchiveLacking, SnapshotAdopted, SnapshotLacking
from scratchflow.model.snapshot import Manifest
from scratchflow.model.times import iso_time
from scratchflow.node.backup import leave_rescue
from scratchflow.node.context import NodeContext
from scratchflow.node.history.verification import borrowed_problems
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import open_store
from scratchflow.node.transfer.unfinished import given_up_when_full
from scratchflow.store.catalogue import (
    Catalogue,
    Skipped,
    decoded_manifest,
    needed_archives,
    read_catalogue,
)
from scratchflow.store.checks.verified import (
    Verification,
    forget_verified,
    known_damaged,
    record_verified,
)
from scratchflow.store.commit.arriving import (
    adopt,
    arrived_bytes,
    digest_of,
    has_arrived,
    is_that,
    nothing_to_prune,
)
from scratchflow.store.commit.commit import publish_manifest
from scratchflow.store.commit.reserve import ensure_reserve
from scratchflow.store.directory import ARCHIVE_SUFFIX, StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.retention.lineage import joined, read_noted, write_noted
from scratchflow.store.retention.marks import Mark, keep
from scratchflow.store.retention.sweep import sweep


class Here:
    """What this store has, and what of it is known to be damaged. Archives are read only where that is in question."""

    def __init__(
        self, place: StoreDirectory, catalogue: Catalogue, *, takes_parts: bool = False
    ) -> None:
        """With `takes_parts`, what is left of an archive may serve a snapshot that needs a part of it."""
        self._takes_parts = takes_parts
        self.catalogue = catalogue
        self._place = place
        self._known = _Known(place, catalogue)
        self._damaged = _damaged(place, catalogue)
        self._doubted = {
            archive
            for one in catalogue.snapshots
            if one.id in self._damaged
            for archive in needed_archives(one)
        }
        self._unread = {one.snapshot: one for one in catalogue.skipped}

    def has(self, snapshot: str) -> bool:
        """Whether it is here and not known to be damaged."""
        return self._known.lists(snapshot) and snapshot not in self._damaged

    def lacks(self, wanted: WholeSnapshot) -> SnapshotLacking | None:
        """Which archives of it have to come; None when it is here and not known to be damaged.

        None have to come of one that was damaged when it was last read, and is whole now.
        """
        if self.has(wanted.id):
            return None
        if what := self._in_the_way(wanted):
            return SnapshotLacking(wanted.id, [], blocked=True, in_the_way=what)
        is_listed = self._known.lists(wanted.id)
        in_doubt = is_listed or wanted.id in self._unread
        missing: list[ArchiveLacking] = []
        serving: list[str] = []
        own_first = sorted(wanted.archives, key=lambda archive: archive.id != wanted.id)
        for archive in own_first:
            if self._has(archive, in_doubt=in_doubt):
                continue
            if self._known.is_another(archive):
                if archive.id != wanted.id and not in_doubt and self._may_serve(archive):
                    serving.append(archive.id)
                    continue
                # As one full archive it would need its own name.
                blocked = is_listed or self._place.archive(wanted.id).exists()
                return SnapshotLacking(wanted.id, [], in_one=True, blocked=blocked)
            is_whole = has_arrived(self._place, archive)
            arrived = archive.bytes if is_whole else arrived_bytes(self._place, archive)
            missing.append(ArchiveLacking(self._known.as_meant(archive), arrived, is_whole))
        return SnapshotLacking(wanted.id, missing, serving=serving)

    def _may_serve(self, archive: ArchiveOf) -> bool:
        """Whether the two may differ only in what is left of them. What the snapshot reads from it tells, once that is known."""
        is_part = archive.is_remnant or self._known.is_remnant(archive.id)
        return self._takes_parts and is_part and archive.id not in self._doubted

    def _in_the_way(self, wanted: WholeSnapshot) -> str:
        """What it is that is no manifest or archive, and is not replaced; empty when there is nothing of the kind."""
        if reason := unreplaced(self._unread.get(wanted.id)):
            return f"`{self._place.manifest(wanted.id)}`: {reason}"
        for archive in wanted.archives:
            file = self._place.archive(archive.id)
            kind = _wrong_kind(file)
            # A link that leads nowhere is an archive that is missing, where a manifest says that it was one.
            if kind and (file.exists() or not self._known.lists(archive.id)):
                return f"`{file}` is {kind}, not an archive"
        return ""

    def _has(self, archive: ArchiveOf, *, in_doubt: bool) -> bool:
        """Whether that very archive is here. Its bytes are compared when a snapshot that needs it is known to be damaged."""
        if not self._place.archive(archive.id).exists():
            return False
        is_gone = not self._known.lists(archive.id)  # its own snapshot
        if in_doubt or archive.id in self._damaged or (is_gone and archive.id in self._doubted):
            return self._known.reads_as(archive)
        return self._known.is_noted_as(archive)


def unreplaced(manifest: Skipped | None) -> str:
    """Why a manifest that cannot be read is not replaced by a whole one; empty when it may be, or there is none."""
    return manifest.reason if manifest and not manifest.is_damaged else ""


def _wrong_kind(file: Path) -> str:
    """What a file of the store is instead of a file; empty when it is one, or is not there."""
    with store_errors(file), suppress(FileNotFoundError):
        mode = os.lstat(file).st_mode
        if stat.S_ISDIR(mode):
            return "a directory"
        if stat.S_ISLNK(mode):
            return "a link"
        if not stat.S_ISREG(mode):
            return "a device, a FIFO or a socket"
    return ""


class _Known:
    """The archives of this store: which ones its manifests mean, and which ones lie there."""

    def __init__(self, place: StoreDirectory, catalogue: Catalogue) -> None:
        self._place = place
        self._meant = {one.id: one for one in catalogue.snapshots}
        self._read: dict[str, ArchiveDigest] = {}

    def lists(self, snapshot: str) -> bool:
        return snapshot in self._meant

    def as_meant(self, archive: ArchiveOf) -> ArchiveOf:
        """With the digest in its manifest here, when there is none where it comes from."""
        if archive.digest or archive.id not in self._meant:
            return archive
        return msgspec.structs.replace(archive, digest=self._meant[archive.id].archive_digest)

    def is_noted_as(self, archive: ArchiveOf) -> bool:
        """Whether it is that one, as its manifest here says, or its footer. Read as a whole where neither can tell."""
        if archive.digest and archive.id in self._meant:
            return self._meant[archive.id].archive_digest == archive.digest
        if archive.own_digest:
            is_as_large = self._size(archive.id) == archive.bytes
            return is_as_large and self._own_digest(archive.id) == archive.own_digest
        return self.reads_as(archive)

    def reads_as(self, archive: ArchiveOf) -> bool:
        """Whether what lies here is that one, byte for byte."""
        meant = self.as_meant(archive)
        is_known = bool(meant.digest or meant.own_digest)
        return is_known and is_that(self._digest(archive.id), meant)

    def is_whole(self, archive: str) -> bool:
        """Whether what lies here reads as it was written, as its manifest says, or its footer when that is gone."""
        found = self._digest(archive)
        if archive in self._meant:
            return found.digest == self._meant[archive].archive_digest
        return bool(found.own_digest)

    def _digest(self, archive: str) -> ArchiveDigest:
        """Of what lies there; it is read once."""
        if archive not in self._read:
            self._read[archive] = digest_of(
                self._place.archive(archive), [self._own_digest(archive)]
            )
        return self._read[archive]

    def is_another(self, archive: ArchiveOf) -> bool:
        """Whether the archive of this name here is meant to be another one, and not that one damaged."""
        return self._size(archive.id) is not None and not self.is_meant(archive)

    def is_meant(self, archive: ArchiveOf) -> bool:
        """Whether what lies here under its name is it, or is it damaged.

        Where there is no manifest of it, size and footer tell: less is left when a part was given up.
        """
        known = self._meant.get(archive.id)
        if known and archive.digest:
            return known.archive_digest == archive.digest
        if not archive.digest and not archive.own_digest:
            return False
        size = known.archive_bytes if known else self._size(archive.id)
        own_digest = self._own_digest(archive.id) if archive.own_digest else ""
        return size == archive.bytes and own_digest in {"", archive.own_digest}

    def is_remnant(self, archive: str) -> bool:
        """Whether only what other snapshots need is left of it."""
        footer = self._footer(archive)
        return footer is not None and footer.is_remnant

    def _own_digest(self, archive: str) -> str:
        """As its footer says; empty when that cannot be read."""
        footer = self._footer(archive)
        return footer.content_digest if footer else ""

    def _footer(self, archive: str) -> Footer | None:
        with suppress(Malformed, OSError):
            return footer_of(self._place.archive(archive))
        return None

    def _size(self, archive: str) -> int | None:
        file = self._place.archive(archive)
        with store_errors(file), suppress(FileNotFoundError):
            return file.stat().st_size
        return None


def adopt_whole(
    context: NodeContext,
    notify: Notifier,
    wanted: WholeSnapshot,
    *,
    doing: str,
    awaited: Collection[str] = (),
    serving: Collection[str] = (),
    parents: Mapping[str, str] | None = None,
) -> SnapshotAdopted:
    """The snapshot is one of this store from here on, if all its archives have arrived, or were here and are whole.

    `parents`: of all snapshots where it comes from, so that it is known to continue an older one without those between.
    """
    content = wanted.manifest.encode()
    manifest = _decoded(wanted.id, content)
    place = open_store(context, notify)
    arrived = [one.id for one in wanted.archives]
    with (
        given_up_when_full(context, notify, place, arrived, doing=doing),
        nothing_to_prune(place),
        context.lock_when_full(place, doing, remark=notify.remark) as lock,
    ):
        sweep(lock, time.time(), awaited={*awaited, *(one.id for one in wanted.archives)})
        before = read_catalogue(place)
        unread = next((one for one in before.skipped if one.snapshot == wanted.id), None)
        if reason := unreplaced(unread):
            what = f"`{place.manifest(wanted.id)}`: {reason}"
            raise InTheWay(snapshot=wanted.id, what=what)
        damaged, known = _damaged(place, before), _Known(place, before)
        coming = [one for one in wanted.archives if one.id not in serving]
        same = frozenset(one.id for one in coming if known.is_meant(one))
        placed = adopt(lock, coming, same=same)
        _require_all_named(place, manifest)
        is_new = not known.lists(wanted.id)
        if is_new and serving and borrowed_problems(place, manifest, Proven(place.archive)):
            _withdraw(lock, manifest.id, placed)
            return SnapshotAdopted(
                wanted.id, is_new=False, newest=before.newest_id, is_unserved=True
            )
        listed_now = [*before.snapshots, manifest] if is_new else before.snapshots
        write_noted(place, joined(listed_now, read_noted(place), parents or {}))
        if is_new:
            publish_manifest(lock, manifest, content, in_place_of_damaged=unread is not None)
        else:
            forget_verified(place, [wanted.id])  # what was found is not so any more
        if wanted.kept:
            keep(place, Mark(snapshot=wanted.id, why="asked", time=manifest.time))
        leave_rescue(place, notify)
        ensure_reserve(place)
    _look_at_others(place, wanted.id, placed, damaged)
    after = read_catalogue(place)
    listed = {one.id for one in after.snapshots}
    mended = sorted((damaged & listed) - _damaged(place, after))
    return SnapshotAdopted(snapshot=wanted.id, is_new=is_new, newest=after.newest_id, mended=mended)


def _withdraw(lock: StoreLock, snapshot: str, placed: Collection[str]) -> None:
    """Frees the name of a snapshot's own archive again, which was placed just now and has no manifest."""
    file = lock.place.archive(snapshot)
    lock.assert_held()
    if snapshot in placed and not is_there(lock.place.manifest(snapshot)):
        with store_errors(file):
            os.unlink(file)


def _require_all_named(place: StoreDirectory, manifest: Manifest) -> None:
    """Raises SnapshotDamaged when its archive reads from others than the manifest names: they would not be kept for it."""
    unnamed = archives_read(place.archive(manifest.id)) - needed_archives(manifest)
    if unnamed:
        reason = (
            f"its manifest does not name the archive `{min(unnamed)}`, which holds a part of it"
        )
        raise SnapshotDamaged(snapshot=manifest.id, reason=reason)


def _look_at_others(
    place: StoreDirectory, adopted: str, placed: Collection[str], damaged: Collection[str]
) -> None:
    """Other snapshots that were damaged for want of these archives are so no more, if the rest of what they need is whole.

    All of that is read for it: what was here already may be known by its footer alone, and a snapshot may be known as
    damaged only because it needs another one's archive. Nobody has to wait: the lock is not held.
    """
    mended = {*placed, adopted} if adopted in damaged else {*placed}
    catalogue = read_catalogue(place)
    known = _Known(place, catalogue)
    for one in catalogue.snapshots:
        needs = needed_archives(one)
        is_other = one.id != adopted and one.id in damaged and one.id not in catalogue.damaged
        if not is_other or needs.isdisjoint(mended):
            continue
        own_first = sorted(needs - set(placed), key=lambda each: (each != one.id, each))
        bad = next((each for each in own_first if not known.is_whole(each)), None)
        if bad is None:
            forget_verified(place, [one.id])
        else:
            problem = f"`{bad}{ARCHIVE_SUFFIX}` is not as it was written"
            now = iso_time(time.time()) or ""
            found = Verification(snapshot=one.id, time=now, problem=problem, is_own=bad == one.id)
            record_verified(place, [found])


def _damaged(place: StoreDirectory, catalogue: Catalogue) -> set[str]:
    return {*catalogue.damaged, *known_damaged(place, catalogue.snapshots)}


def _decoded(snapshot: str, content: bytes) -> Manifest:
    try:
        return decoded_manifest(snapshot, content)
    except (ValueError, msgspec.MsgspecError) as error:
        raise RequestRefused(reason=f"the manifest of `{snapshot}`: {error}") from None
