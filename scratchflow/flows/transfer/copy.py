"""`snapshots copy --to PROFILE`: from one cluster's store into another's, through this machine.

The two login hosts need not know each other. Archives go first and a snapshot's manifest last, oldest snapshot first, so
whatever was reached when it ends is whole there. Run again, it sends only what is missing, also of an archive.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack

import msgspec

from scratchflow.agent.upload import Upload
from scratchflow.archive.write.archive_out import Out
from scratchflow.archive.write.streamed import Streamed
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.dispatch.other_profile import failures_of, remarks_of
from scratchflow.flows.transfer.copyable import require_copyable, to_itself
from scratchflow.model.ages import naming
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import DamagedAtSource, SnapshotDamaged
from scratchflow.model.errors.store import EmptyStoreFull, NoSpace, too_much
from scratchflow.model.errors.transfer import CopyBroken
from scratchflow.model.events import Data, Emit, Event, Log, Progress, Warned
from scratchflow.model.requests import (
    Adopt,
    ArchiveOf,
    GiveArchive,
    Lacking,
    Offer,
    Send,
    TakeArchive,
    WholeSnapshot,
)
from scratchflow.model.results.transfer import (
    ArchiveGiven,
    ArchiveTaken,
    SnapshotAdopted,
    SnapshotLacking,
    SnapshotsCopied,
    SnapshotSent,
    SnapshotsLacking,
    SnapshotsOffered,
)
from scratchflow.model.snapshot import Manifest, checked_manifest, encode_manifest, manifest_in

PHASE = "copy"
# Raises for what the two stores have, before anything is sent.
Require = Callable[[SnapshotsOffered, SnapshotsLacking], None]
# Writes an archive, and returns its digest.
_Give = Callable[[Out], str]


def copy_snapshots(
    caller: Caller,
    asked: Offer,
    to: str,
    emit: Emit,
    *,
    dry_run: bool = False,
    require: Require = lambda _offered, _lacking: None,
) -> SnapshotsCopied:
    """Copies the snapshots that are meant, or all, into the store of the profile `to`; `require` may refuse that."""
    there = msgspec.structs.replace(caller, asked=msgspec.structs.replace(caller.asked, profile=to))
    settings, other = caller.settings(), there.settings()
    require_copyable(settings, other)
    started_s = time.monotonic()
    with ExitStack() as open_until:
        source = open_until.enter_context(cluster_of(settings, caller, emit))
        with failures_of(other):
            remarks = remarks_of(other.name, emit)
            target = open_until.enter_context(cluster_of(other, there, remarks))
        offered = source.at_workspace("snapshots offer", asked, SnapshotsOffered)
        with failures_of(other):
            lacking = target.at_workspace(
                "snapshots lacking", Lacking(snapshots=offered.snapshots), SnapshotsLacking
            )
        if offered.store_id and offered.store_id == lacking.store_id:
            raise to_itself(settings, other)
        require(offered, lacking)
        along = set(offered.along)
        missing = [one for one in lacking.snapshots if not one.blocked]
        missing = [one for one in missing if one.id not in along or not one.in_one]
        foretold = _known_to_fail(offered, missing) if dry_run else []
        missing = [one for one in missing if one.id not in foretold]
        copy = _Copy(
            source,
            target,
            emit,
            missing,
            skips_damaged=not asked.snapshots,
            parents=offered.parents,
        )
        try:
            with failures_of(other):
                _require_room(lacking, copy.to_send)
            if not dry_run:
                copy.run(offered.snapshots)
        except ScratchflowError:
            _tell_damaged([*offered.damaged, *copy.damaged, *foretold], settings.name, emit)
            raise
        missing = [one for one in missing if one.id not in copy.blocked]
        sent = set() if dry_run else {one.id for one in missing} - set(copy.damaged)
        at_the_end = copy.look_again([one for one in offered.snapshots if one.id in sent])
    as_full = [one.id for one in missing if one.in_one]
    served = [one.id for one in missing if one.serving]
    not_there = {one.id for one in lacking.snapshots}
    not_whole = {one.id for one in at_the_end.snapshots} if at_the_end else set()
    arrived = [one for one in missing if one.id not in {*copy.damaged, *not_whole}]
    left_out = [one for one in lacking.snapshots if one.blocked and one.id not in along]
    mended = copy.mended - not_whole
    blocked = {*copy.blocked, *(one.id for one in left_out if not one.in_the_way)}
    already_there = {one.id for one in offered.snapshots} - not_there - along
    # In other archives than here, and whole with what others brought: there is nothing to do about it.
    already_there |= blocked & mended
    return SnapshotsCopied(
        source=settings.name,
        to=other.name,
        copied=[one.id for one in arrived if one.id not in along],
        along=[one.id for one in arrived if one.id in along],
        already_there=sorted(already_there),
        sent_bytes=copy.to_send if dry_run else copy.sent,
        duration_s=round(time.monotonic() - started_s, 3),
        newest=(at_the_end or lacking).newest,
        damaged=sorted([*offered.damaged, *copy.damaged, *foretold]),
        unreadable=offered.unreadable,
        blocked=sorted(blocked - mended),
        in_the_way={one.id: one.in_the_way for one in left_out if one.in_the_way},
        not_whole=sorted(not_whole),
        relies_on=_relied_on(offered.snapshots, missing),
        as_full_bytes=_held(offered.snapshots, [*copy.in_one, *as_full]),
        perhaps_as_full_bytes=_held(offered.snapshots, served) if dry_run else 0,
        mended=sorted(mended),
        dry_run=dry_run,
    )


def _tell_damaged(damaged: Collection[str], source: str, emit: Emit) -> None:
    """Names those that no other run would copy either: an error has no result that could."""
    for one in sorted(damaged):
        verify = naming(f"`scratchflow snapshots verify {one}`", source)
        message = f"not copied, because it is damaged in the store of profile `{source}`: snapshot {one}; {verify} says what is wrong"
        emit(Warned(code=DamagedAtSource.code, message=message))


def _require_room(lacking: SnapshotsLacking, coming_bytes: int) -> None:
    """NoSpace when the other store has no room for all of it: then nothing is begun."""
    room_bytes = lacking.room_bytes
    if room_bytes is not None and coming_bytes > room_bytes:
        full = NoSpace if lacking.newest else EmptyStoreFull
        raise full(path=lacking.directory, reason=too_much(coming_bytes, room_bytes))


def _known_to_fail(offered: SnapshotsOffered, missing: Sequence[SnapshotLacking]) -> list[str]:
    """Those that would have to be read from archives that are known to be damaged, and so would not be copied."""
    doubted = set(offered.doubted)
    needed = {one.id: {archive.id for archive in one.archives} for one in offered.snapshots}
    return [one.id for one in missing if doubted & _read_for(one, needed[one.id])]


def _read_for(lacking: SnapshotLacking, needed: set[str]) -> set[str]:
    """The archives that are read in the first store to copy it: as one full archive it is made from all that it needs."""
    if lacking.in_one:
        return needed
    return {one.archive.id for one in lacking.archives if not one.is_whole}


def _held(offered: Sequence[WholeSnapshot], wanted: Collection[str]) -> int:
    """How much these snapshots hold: as one full archive, no more than that is sent of each."""
    return sum(_manifest_of(one).bytes for one in offered if one.id in wanted)


def _manifest_of(snapshot: WholeSnapshot) -> Manifest:
    return manifest_in(checked_manifest(snapshot.manifest.encode()))


def _relied_on(offered: Sequence[WholeSnapshot], missing: Sequence[SnapshotLacking]) -> int:
    """How many archives the copied snapshots need that were there already."""
    as_they_are = {one.id for one in missing if not one.in_one}
    needed = {archive.id for one in offered if one.id in as_they_are for archive in one.archives}
    return len(needed - {one.archive.id for each in missing for one in each.archives})


class _Copy:
    """One run: what is to be sent, and how far it has come."""

    def __init__(
        self,
        source: Cluster,
        target: Cluster,
        emit: Emit,
        lacking: Sequence[SnapshotLacking],
        *,
        skips_damaged: bool,
        parents: dict[str, str],
    ) -> None:
        """With `skips_damaged` those that turn out to be damaged are noted, and the others go on."""
        self._source = source
        self._target = target
        self._emit = emit
        self._lacking = lacking
        self._parents = parents
        missing = {one.archive.id: one for each in lacking for one in each.archives}
        self.to_send = sum(one.archive.bytes - one.arrived_bytes for one in missing.values())
        self.sent = 0
        self.damaged: list[str] = []
        self.blocked: list[str] = []
        self.in_one: list[str] = []
        self.mended: set[str] = set()
        self._skips_damaged = skips_damaged
        self._arrived: set[str] = set()
        self._damaged_archives: set[str] = set()
        self._last: Adopt | None = None

    def look_again(self, sent: list[WholeSnapshot]) -> SnapshotsLacking | None:
        """What the other store says of them now: which it does not list as whole; None when none was sent."""
        if not sent:
            return None
        with failures_of(self._target.settings):
            return self._target.at_workspace(
                "snapshots lacking", Lacking(snapshots=sent), SnapshotsLacking
            )

    def run(self, offered: Sequence[WholeSnapshot]) -> None:
        """Sends and commits each."""
        by_id = {one.id: one for one in offered}
        wanted = [by_id[one.id] for one in self._lacking]
        awaited = tuple(sorted({archive.id for one in wanted for archive in one.archives}))
        for number, one in enumerate(self._lacking, start=1):
            message = f"snapshot {one.id}, {number} of {len(self._lacking)}"
            self._emit(Log(level="debug", message=message))
            try:
                # All snapshots there are looked at each time: once after a cut, and once at the end, are enough.
                parents = self._parents if number in {1, len(self._lacking)} else {}
                self._send(by_id[one.id], one, awaited, parents)
            except StreamBroken as error:
                reason = error.fields.get("reason") or str(error)
                raise CopyBroken(to=self._target.settings.name, reason=reason) from error
            except SnapshotDamaged:
                if not self._skips_damaged:
                    raise
                self.damaged.append(one.id)
        if self._last is not None and not self._last.parents:
            # The last ones were damaged: what the others came from is noted there all the same.
            self._adopt(msgspec.structs.replace(self._last, parents=self._parents))

    def _send(
        self,
        snapshot: WholeSnapshot,
        lacking: SnapshotLacking,
        awaited: tuple[str, ...],
        parents: dict[str, str],
    ) -> None:
        """One of them."""
        whole = self._in_one(snapshot) if lacking.in_one else self._chain(snapshot, lacking)
        asked = Adopt(
            snapshot=whole, awaited=awaited, parents=parents, serving=tuple(lacking.serving)
        )
        if self._adopt(asked):
            return
        if snapshot.id not in {one.archive.id for one in lacking.archives}:
            self.blocked.append(
                snapshot.id
            )  # its own name is taken there, by its archive without a manifest
            return
        whole = self._in_one(snapshot)
        self._adopt(Adopt(snapshot=whole, awaited=awaited, parents=parents))

    def _adopt(self, asked: Adopt) -> bool:
        """Whether it is a snapshot there now; not when the archives there do not serve it."""
        with failures_of(self._target.settings):
            adopted = self._target.at_workspace("snapshots adopt", asked, SnapshotAdopted)
        if adopted.is_unserved:
            return False
        self.mended.update(adopted.mended)
        self._last = asked
        return True

    def _chain(self, snapshot: WholeSnapshot, lacking: SnapshotLacking) -> WholeSnapshot:
        """The archives that are missing, as they are."""
        for damaged in self._damaged_archives & {one.archive.id for one in lacking.archives}:
            raise self._damaged_at_source(snapshot.id, f"so is `{damaged}`, which it needs")
        coming = [
            one
            for one in lacking.archives
            if one.archive.id not in self._arrived and not one.is_whole
        ]
        beside = tuple(one.archive.id for one in lacking.archives)
        for number, one in enumerate(coming):
            needed_bytes = sum(each.archive.bytes - each.arrived_bytes for each in coming[number:])
            take = TakeArchive(archive=one.archive, needed_bytes=needed_bytes, beside=beside)
            try:
                self._send_from(snapshot.id, take, one.arrived_bytes)
            except SnapshotDamaged:
                self._damaged_archives.add(one.archive.id)
                raise
            self._arrived.add(one.archive.id)
        return snapshot

    def _send_from(self, snapshot: str, take: TakeArchive, offset: int) -> None:
        """An archive from where an earlier run left off; from its beginning when that was not the beginning of it."""
        try:
            self._send_archive(snapshot, msgspec.structs.replace(take, offset=offset))
        except DamagedAtSource:
            raise
        except SnapshotDamaged:
            if not offset:
                raise
            self._send_archive(snapshot, msgspec.structs.replace(take, needed_bytes=0))

    def _send_archive(self, snapshot: str, take: TakeArchive) -> None:
        asked = GiveArchive(snapshot=snapshot, archive=take.archive.id, offset=take.offset)
        problems: list[str] = []

        def give(out: Out) -> str:
            given = self._source.at_workspace(
                "snapshots give", asked, ArchiveGiven, emit=_into(out)
            )
            if given.problem:
                problems.append(given.problem)
            return given.digest

        try:
            self._pass_on(give, take)
        except SnapshotDamaged as error:
            # The other end knows only that it got something else.
            raise (self._damaged_at_source(snapshot, problems[0]) if problems else error) from None

    def _damaged_at_source(self, snapshot: str, reason: str) -> DamagedAtSource:
        source = self._source.settings.name
        error = DamagedAtSource(snapshot=snapshot, source=source, reason=reason)
        error.rephrase(lambda text: naming(text, source))
        return error

    def _in_one(self, snapshot: WholeSnapshot) -> WholeSnapshot:
        """The snapshot as one full archive: the other store has an archive of that name that is another one."""
        self.in_one.append(snapshot.id)
        manifest = _manifest_of(snapshot)
        asked = Send(snapshot=snapshot.id)

        def give(out: Out) -> str:
            sent = self._source.at_workspace("snapshots send", asked, SnapshotSent, emit=_into(out))
            return sent.digest

        archive = self._pass_on(give, TakeArchive(archive=ArchiveOf(snapshot.id)))
        full = msgspec.structs.replace(
            manifest,
            kind="full",
            needs=[],
            archive_bytes=archive.bytes,
            archive_digest=archive.digest,
        )
        return msgspec.structs.replace(
            snapshot, manifest=encode_manifest(full).decode(), archives=[archive]
        )

    def _pass_on(self, give: _Give, take: TakeArchive) -> ArchiveOf:
        """What one end gives, the other takes; here nothing of it is stored."""
        pieces = Streamed(give)
        upload = Upload(self._counted(pieces))
        try:
            with failures_of(self._target.settings):
                taken = self._target.at_workspace(
                    "snapshots take", take, ArchiveTaken, feed=upload.frames()
                )
        except ScratchflowError:
            if upload.error is not None:  # the other end says of it only that it ended
                raise upload.error from None
            raise
        finally:
            pieces.close()
        if taken.digest != pieces.result:
            reason = "the archive that arrived is not the one that was read"
            raise SnapshotDamaged(snapshot=take.archive.id, reason=reason)
        return ArchiveOf(take.archive.id, taken.size_bytes, taken.digest)

    def _counted(self, pieces: Streamed[str]) -> Iterator[bytes]:
        for piece in pieces:
            self.sent += len(piece)
            if piece:
                total = max(self.to_send, self.sent)
                self._emit(Progress(phase=PHASE, bytes_done=self.sent, bytes_total=total))
            yield piece


def _into(out: Out) -> Emit:
    """Writes what is sent; what else is said meanwhile is about the other end, which tells it better."""

    def take(event: Event) -> None:
        if isinstance(event, Data):
            out.write(event.content)

    return take
