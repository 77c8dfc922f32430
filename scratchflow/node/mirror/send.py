"""`snapshots mirror`: what the mirror lacks is sent, archives first, manifests last, and nothing there is replaced.

Killed anywhere, every snapshot that is listed there is whole. The next run sends the rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, suppress

import msgspec

from scratchflow.cluster.rclone.remote import Remote, beneath
from scratchflow.cluster.rclone.words import LINK_SUFFIX, is_in_the_way
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotMissing
from scratchflow.model.errors.transfer import MirrorFailed, RcloneMissing
from scratchflow.model.events import Progress
from scratchflow.model.requests import DryRun
from scratchflow.model.results.transfer import SnapshotsMirrored
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import counted
from scratchflow.model.times import iso_time
from scratchflow.node.context import NodeContext
from scratchflow.node.mirror.mirrored import Mirrored
from scratchflow.node.mirror.target import remote_of
from scratchflow.node.progress import Notifier
from scratchflow.store.catalogue import Catalogue, needed_archives, read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.checks.verified import known_damaged
from scratchflow.store.directory import (
    ARCHIVE_SUFFIX,
    MANIFEST_SUFFIX,
    STORE_NAME,
    StoreDirectory,
    find_place,
)
from scratchflow.store.failures import store_errors
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.mirror import (
    MirrorState,
    mirror_place,
    read_state,
    require_store_id,
    write_state,
)
from scratchflow.store.rescue_files import GUIDE_NAME, RESCUE_NAME
from scratchflow.store.retention.readers import reading

PHASE = "mirror"
DOING = "scratchflow snapshots mirror"
# What a cut costs at most, besides one archive that is larger: it is sent again.
_BATCH_BYTES = 1 << 30
_BATCH_SNAPSHOTS = 100


def mirror_snapshots(context: NodeContext, notify: Notifier, asked: DryRun) -> SnapshotsMirrored:
    """Sends what the mirror lacks. A failure is noted in the store, for `status`."""
    place = find_place(context.store, context.workspace.name)
    try:
        remote = remote_of(context.settings)
    except RcloneMissing as error:
        note_failure(place, context.profile.backup.mirror, str(error))
        raise
    forget_old_listing(place)
    if asked.dry_run:
        return _Sending(context, notify, place, remote).foretell()
    catalogue = read_catalogue(place)
    if not catalogue.snapshots:
        return SnapshotsMirrored(
            mirror=remote.directory, duration_s=0.0, unreadable=catalogue.unreadable
        )
    with context.lock(mirror_place(place), DOING, remark=notify.remark) as lock:
        return _noting_failure(_Sending(context, notify, place, remote), lock)


def _noting_failure(sending: _Sending, lock: StoreLock) -> SnapshotsMirrored:
    try:
        return sending.run(lock)
    except ScratchflowError as error:
        words = error.fields.get("words") or str(error)
        note_failure(sending.place, sending.mirror, words)
        raise


def note_failure(place: StoreDirectory, mirror: str, words: str) -> None:
    """For `status`: why, and since when."""
    state, now = read_state(place, mirror), _now()
    since = state.failing_since or now
    # What is wrong with the mirror is the better answer than what is wrong with the note.
    with suppress(ScratchflowError):
        write_state(
            place, msgspec.structs.replace(state, time=now, error=words, failing_since=since)
        )


class _Sending:
    """One run."""

    def __init__(
        self, context: NodeContext, notify: Notifier, place: StoreDirectory, remote: Remote
    ) -> None:
        self._context, self._notify = context, notify
        self.place = place
        self._remote = remote
        self.mirror = context.profile.backup.mirror
        self._state = read_state(place, self.mirror)
        self._started_s = context.monotonic()
        self._sent_bytes = 0
        self._to_send = 0
        # Files that could not be sent, with rclone's words; and those of them whose names something else has there.
        self._failed: dict[str, str] = {}
        self._in_the_way: list[str] = []

    def foretell(self) -> SnapshotsMirrored:
        """What would be sent. Takes no lock and writes nothing."""
        catalogue, bad = self._catalogue()
        there = self._look(catalogue)
        plan = _Plan(catalogue, bad, there)
        size = sum(self._size(archive) for archive in self._lacking(plan.missing, there))
        return msgspec.structs.replace(
            self._result(plan, [one.id for one in plan.missing]), sent_bytes=size, dry_run=True
        )

    def run(self, lock: StoreLock) -> SnapshotsMirrored:
        """Sends everything that is not there yet, oldest first."""
        catalogue, bad = self._catalogue()
        there = self._look(catalogue)
        is_marked = there.require_of(require_store_id(self.place))
        if not is_marked and there.files.get(STORE_NAME, 0) > 0:
            message = f"`{STORE_NAME}` on `{self._remote.directory}` held no store's id; this store's is written in its place"
            self._notify.warn("mirror.id_replaced", b"", message)
        plan = _Plan(catalogue, bad, there)
        missing = plan.missing
        self._note(there=plan.there)
        if missing:
            self._clear(there.partial)
        self._send_around(there, is_marked=is_marked)
        self._to_send = sum(self._size(one) for one in self._lacking(missing, there))
        sent: list[str] = []
        for batch in self._batches(missing, there):
            sent += self._send(batch, there, lock)
            self._require_room()
        self._require_room()
        plan.block(self._in_the_way, there)
        # What arrived for a snapshot that is not listed there yet is not sent again and again.
        arrived = self._state.sent if plan.blocked else []
        self._note(there=sorted({*self._state.there, *sent}), sent=arrived, error=plan.error)
        return self._result(plan, sent)

    def _require_room(self) -> None:
        """MirrorFailed when files failed though nothing is in their way: more of them would fail, too."""
        failed = [one for one in self._failed if one not in self._in_the_way]
        if failed:
            others = f" (and {counted(len(failed) - 1, 'other file')})" if failed[1:] else ""
            words = f"{failed[0]}{others}: {self._failed[failed[0]]}"
            raise MirrorFailed(mirror=self._remote.directory, words=words)

    def _catalogue(self) -> tuple[Catalogue, frozenset[str]]:
        catalogue = read_catalogue(self.place)
        known = known_damaged(self.place, catalogue.snapshots)
        return catalogue, known | set(catalogue.damaged)

    def _look(self, catalogue: Catalogue) -> Mirrored:
        sizes = []
        for one in catalogue.snapshots:
            with suppress(FileNotFoundError):
                sizes.append((one, os.stat(self.place.manifest(one.id)).st_size))
        return Mirrored(self._remote, sizes, self._size)

    def _note(
        self, *, there: Sequence[str], sent: Sequence[str] | None = None, error: str | None = None
    ) -> None:
        """What was found and done so far. An error of the run before counts until this one is through, with its own or none."""
        kept = self._state.sent if sent is None else list(sent)
        now, said = _now(), self._state.error if error is None else error
        self._state = MirrorState(
            mirror=self.mirror,
            time=now,
            there=list(there),
            sent=kept,
            error=said,
            failing_since=(self._state.failing_since or now) if said else "",
        )
        write_state(self.place, self._state)

    def _lacking(self, snapshots: Sequence[Manifest], there: Mirrored) -> list[str]:
        """The archives that have to be sent for these snapshots."""
        needed = sorted({archive for one in snapshots for archive in needed_archives(one)})
        return [archive for archive in needed if not self._counts(archive, there)]

    def _counts(self, archive: str, there: Mirrored) -> bool:
        """Whether it is there whole: a manifest there names it, or we saw it arrive."""
        found = there.archive_bytes(archive)
        if found is None:
            return False
        if archive in self._state.sent and found == self._size(archive):
            return True
        return archive in there.relied_on

    def _size(self, archive: str) -> int:
        with suppress(OSError):
            return os.stat(self.place.archive(archive)).st_size
        return 0

    def _batches(self, missing: Sequence[Manifest], there: Mirrored) -> Iterator[list[Manifest]]:
        """A few snapshots at a time: their manifests go when their archives are there."""
        batch: list[Manifest] = []
        for one in missing:
            batch.append(one)
            size = sum(self._size(archive) for archive in self._lacking(batch, there))
            if size >= _BATCH_BYTES or len(batch) >= _BATCH_SNAPSHOTS:
                yield batch
                batch = []
        if batch:
            yield batch

    def _send(self, batch: Sequence[Manifest], there: Mirrored, lock: StoreLock) -> list[str]:
        with ExitStack() as held:
            kept = [one for one in batch if self._held(one, held)]
            self._send_archives(self._lacking(kept, there), there)
            whole = [one for one in kept if not self._lacking([one], there)]
            lock.assert_held()
            arrived = self._put([f"{one.id}{MANIFEST_SUFFIX}" for one in whole], there)
        sent = [one.id for one in whole if f"{one.id}{MANIFEST_SUFFIX}" in arrived]
        self._note(there=sorted({*self._state.there, *sent}))
        return sent

    def _held(self, manifest: Manifest, held: ExitStack) -> bool:
        """Holds it against `prune`, which also rewrites archives; whether it was still there."""
        archives, token = sorted(needed_archives(manifest)), self._context.token(16)
        try:
            held.enter_context(reading(self.place, manifest.id, archives, token=token))
        except SnapshotMissing:
            return False
        return True

    def _send_archives(self, archives: Sequence[str], there: Mirrored) -> None:
        """What arrives is noted; no manifest there names what a cut left of these."""
        sizes = {f"{one}{ARCHIVE_SUFFIX}": self._size(one) for one in archives}
        names = self._put([one for one in sizes if one not in self._failed], there, self._tell)
        if not names:
            return
        arrived = self._remote.listed()
        for name in names:
            if arrived.get(name) != sizes[name]:
                found = arrived.get(name, 0)
                words = f"{name} arrived with {found} bytes instead of {sizes[name]}"
                raise MirrorFailed(mirror=self._remote.directory, words=words)
            there.files[name] = sizes[name]
            self._sent_bytes += sizes[name]
        came = [one for one in archives if f"{one}{ARCHIVE_SUFFIX}" in names]
        self._note(there=self._state.there, sent=[*self._state.sent, *came])

    def _put(
        self,
        names: Sequence[str],
        there: Mirrored,
        on_bytes: Callable[[int], None] = lambda _: None,
    ) -> list[str]:
        """Sends these files, in place of what has their names there; returns those that arrived."""
        directories = [name for name in names if there.is_directory(name)]
        self._failed.update(dict.fromkeys(directories, "a directory has its name"))
        self._in_the_way += directories
        files = [name for name in names if name not in directories]
        self._clear([name for name in files if name in there.files])
        files = [name for name in files if name not in self._failed]
        if not files:
            return []
        failed = self._remote.send(self.place.directory, files, on_bytes)
        self._failed.update(failed)
        self._in_the_way += [name for name, words in failed.items() if is_in_the_way(words)]
        if failed:
            self._remote.listed()  # MirrorFailed when it is away altogether
        return [name for name in files if name not in failed]

    def _send_around(self, there: Mirrored, *, is_marked: bool) -> None:
        """The store's id, and what restores without scratchflow; no snapshot relies on these."""
        wanted = [name for name in (RESCUE_NAME, GUIDE_NAME) if self._differs(name, there)]
        wanted += [] if is_marked else [STORE_NAME]
        self._put(wanted, there)

    def _differs(self, name: str, there: Mirrored) -> bool:
        with store_errors(self.place.directory):
            try:
                return os.stat(self.place.directory / name).st_size != there.files.get(name)
            except FileNotFoundError:
                return False

    def _clear(self, names: Sequence[str]) -> None:
        """One that cannot be deleted keeps no other from being sent."""
        for name in names:
            try:
                self._remote.remove(name)
            except MirrorFailed as error:
                self._failed[name] = str(error.fields["words"])

    def _tell(self, done: int) -> None:
        done += self._sent_bytes
        total = max(done, self._to_send)
        self._notify.emit(Progress(phase=PHASE, bytes_done=done, bytes_total=total))

    def _result(self, plan: _Plan, sent: Sequence[str]) -> SnapshotsMirrored:
        return SnapshotsMirrored(
            mirror=self._remote.directory,
            sent=list(sent),
            there=len(set(plan.there) - plan.bad - set(sent)),
            sent_bytes=self._sent_bytes,
            duration_s=round(self._context.monotonic() - self._started_s, 3),
            damaged=sorted(plan.bad),
            unreadable=plan.unreadable,
            blocked=list(plan.blocked),
            wrong=[beneath(self._remote.directory, name) for name in plan.wrong],
            sent_before=sorted(plan.bad.intersection(plan.there)),
        )


class _Plan:
    """Which snapshots of the store are on the mirror, which have to be sent, and which cannot be."""

    def __init__(self, catalogue: Catalogue, bad: frozenset[str], there: Mirrored) -> None:
        self.bad = bad
        self.unreadable = catalogue.unreadable
        self.there = [one.id for one in catalogue.snapshots if there.has(one)]
        known = bad.union(self.there)
        lacking = [one for one in catalogue.snapshots if one.id not in known]
        blocking = {one.id: there.blocking(one) for one in lacking}
        directories = {one.id: there.directories(one) for one in lacking}
        self.blocked = [one.id for one in lacking if blocking[one.id] or directories[one.id]]
        self.missing = [one for one in lacking if one.id not in self.blocked]
        ours = {one.id for one in catalogue.snapshots}
        self._cut = sorted({a for each in blocking.values() for a in each if there.is_wrong(a)})
        # To be deleted there. A manifest whose archive nobody has any more would call the next one wrong, too.
        self.wrong = [
            name
            for one in self._cut
            for name in (f"{one}{ARCHIVE_SUFFIX}", f"{one}{MANIFEST_SUFFIX}")
            if name.endswith(ARCHIVE_SUFFIX) or one not in ours
        ]
        self._others = sorted({f"{name}/" for each in directories.values() for name in each})
        self.wrong += self._others

    def block(self, in_the_way: Collection[str], there: Mirrored) -> None:
        """Adds what turned out while it was sent: names that something else has there, and the snapshots that it keeps back."""
        kept_back = [one.id for one in self.missing if not _files_of(one).isdisjoint(in_the_way)]
        self.blocked = sorted({*self.blocked, *kept_back})
        names = [f"{one}{_kind(one, there)}" for one in in_the_way]
        self._others += names
        self.wrong += names

    @property
    def error(self) -> str:
        """For `status`: why snapshots are not there after a run that did all that it could."""
        said = []
        if self._cut:
            cut = _listed([f"{one}{ARCHIVE_SUFFIX}" for one in self._cut])
            said.append(f"{cut} there {_are(self._cut)} not as large as when sent")
        if self._others:
            said.append(f"{_listed(self._others)} there {_are(self._others)} in the way")
        if not said and self.blocked:
            said.append("it has other archives under the names of some")
        return "; ".join(said)


def _kind(name: str, there: Mirrored) -> str:
    """What is put after the name of what is in the way: rclone deletes directories, and links, by another command."""
    if there.is_directory(name):
        return "/"
    return "" if name in there.files else LINK_SUFFIX


def _files_of(manifest: Manifest) -> set[str]:
    archives = {f"{one}{ARCHIVE_SUFFIX}" for one in needed_archives(manifest)}
    return {*archives, f"{manifest.id}{MANIFEST_SUFFIX}"}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{one}`" for one in names[:3])


def _are(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _now() -> str:
    return iso_time(time.time()) or ""
