"""`snapshots copy --to PROFILE`: from one cluster's store into another's, through this machine.

The two login hosts need not know each other. Archives go first and a snapshot's manifest last, oldest snapshot first, so
whatever was reached when it ends is whole there. Run again, it sends only what is missing, also of an archive.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import msgspec

from scratchflow.agent.upload import Upload
from scratchflow.archive.write.frame_sink import Out
from scratchflow.archive.write.streamed import Streamed
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.model.errors import (
    CopyBroken,
    CopyToItself,
    ScratchflowError,
    SnapshotDamaged,
    StreamBroken,
)
from scratchflow.model.events import Data, Emit, Event, Log, Progress
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
from scratchflow.model.results import (
    ArchiveGiven,
    ArchiveTaken,
    SnapshotAdopted,
    SnapshotLacking,
    SnapshotsCopied,
    SnapshotSent,
    SnapshotsLacking,
    SnapshotsOffered,
)
from scratchflow.model.snapshot import Manifest, checked_manifest, encode_manifest

PHASE = "copy"
# Writes an archive, and returns its SHA-256.
_Give = Callable[[Out], str]


def copy_snapshots(
    caller: Caller, asked: Offer, to: str, emit: Emit, *, dry_run: bool = False
) -> SnapshotsCopied:
    """Copies the snapshots that are meant, or all, into the store of the profile `to`."""
    there = msgspec.structs.replace(caller, asked=msgspec.structs.replace(caller.asked, profile=to))
    settings, other = caller.settings(), there.settings()
    started_s = time.monotonic()
    with ExitStack() as open_until:
        source = open_until.enter_context(cluster_of(settings, caller, emit))
        target = open_until.enter_context(cluster_of(other, there, emit))
        offered = source.at_workspace("snapshots offer", asked, SnapshotsOffered)
        lacking = target.at_workspace(
            "snapshots lacking", Lacking(snapshots=offered.snapshots), SnapshotsLacking
        )
        if offered.store_id and offered.store_id == lacking.store_id:
            raise CopyToItself(source=settings.name, to=other.name)
        missing = [one for one in lacking.snapshots if not one.blocked]
        copy = _Copy(source, target, emit, missing)
        newest = lacking.newest if dry_run else copy.run(offered.snapshots) or lacking.newest
    not_there = {one.id for one in lacking.snapshots}
    return SnapshotsCopied(
        source=settings.name,
        to=other.name,
        copied=[one.id for one in missing],
        already_there=[one.id for one in offered.snapshots if one.id not in not_there],
        sent_bytes=copy.to_send if dry_run else copy.sent,
        duration_s=round(time.monotonic() - started_s, 3),
        newest=newest,
        damaged=offered.damaged,
        blocked=[one.id for one in lacking.snapshots if one.blocked],
        dry_run=dry_run,
    )


class _Copy:
    """One run: what is to be sent, and how far it has come."""

    def __init__(
        self, source: Cluster, target: Cluster, emit: Emit, lacking: Sequence[SnapshotLacking]
    ) -> None:
        self._source = source
        self._target = target
        self._emit = emit
        self._lacking = lacking
        missing = {one.archive.id: one for each in lacking for one in each.archives}
        self.to_send = sum(one.archive.bytes - one.arrived_bytes for one in missing.values())
        self.sent = 0
        self._arrived: set[str] = set()

    def run(self, offered: Sequence[WholeSnapshot]) -> str | None:
        """Sends and commits each; the newest snapshot there at the end, None if nothing was lacking."""
        by_id = {one.id: one for one in offered}
        wanted = [by_id[one.id] for one in self._lacking]
        awaited = tuple(sorted({archive.id for one in wanted for archive in one.archives}))
        newest = None
        for number, one in enumerate(self._lacking, start=1):
            message = f"snapshot {one.id}, {number} of {len(self._lacking)}"
            self._emit(Log(level="debug", message=message))
            try:
                whole = (
                    self._in_one(by_id[one.id]) if one.in_one else self._chain(by_id[one.id], one)
                )
                adopted = self._target.at_workspace(
                    "snapshots adopt", Adopt(snapshot=whole, awaited=awaited), SnapshotAdopted
                )
            except StreamBroken as error:
                reason = error.fields.get("reason") or str(error)
                raise CopyBroken(to=self._target.settings.name, reason=reason) from error
            newest = adopted.newest
        return newest

    def _chain(self, snapshot: WholeSnapshot, lacking: SnapshotLacking) -> WholeSnapshot:
        """The archives that are missing, as they are."""
        for one in lacking.archives:
            if one.archive.id in self._arrived or one.is_whole:
                continue
            try:
                self._send_archive(snapshot.id, one.archive, one.arrived_bytes)
            except SnapshotDamaged:
                if not one.arrived_bytes:
                    raise
                # What an earlier run left was not the beginning of it.
                self._send_archive(snapshot.id, one.archive, 0)
            self._arrived.add(one.archive.id)
        return snapshot

    def _send_archive(self, snapshot: str, archive: ArchiveOf, offset: int) -> None:
        asked = GiveArchive(snapshot=snapshot, archive=archive.id, offset=offset)

        def give(out: Out) -> str:
            given = self._source.at_workspace(
                "snapshots give", asked, ArchiveGiven, emit=_into(out)
            )
            return given.sha256

        self._pass_on(give, TakeArchive(archive=archive, offset=offset))

    def _in_one(self, snapshot: WholeSnapshot) -> WholeSnapshot:
        """The snapshot as one full archive: the other store has an archive of that name that is another one."""
        manifest = msgspec.json.decode(checked_manifest(snapshot.manifest.encode()), type=Manifest)
        asked = Send(snapshot=snapshot.id)

        def give(out: Out) -> str:
            sent = self._source.at_workspace("snapshots send", asked, SnapshotSent, emit=_into(out))
            return sent.sha256

        archive = self._pass_on(give, TakeArchive(archive=ArchiveOf(snapshot.id)))
        full = msgspec.structs.replace(
            manifest,
            kind="full",
            needs=[],
            archive_bytes=archive.bytes,
            archive_sha256=archive.sha256,
        )
        return msgspec.structs.replace(
            snapshot, manifest=encode_manifest(full).decode(), archives=[archive]
        )

    def _pass_on(self, give: _Give, take: TakeArchive) -> ArchiveOf:
        """What one end gives, the other takes; here nothing of it is stored."""
        pieces = Streamed(give)
        upload = Upload(self._counted(pieces))
        try:
            taken = self._target.at_workspace(
                "snapshots take", take, ArchiveTaken, feed=upload.frames()
            )
        except ScratchflowError:
            if upload.error is not None:  # the other end says of it only that it ended
                raise upload.error from None
            raise
        finally:
            pieces.close()
        if taken.sha256 != pieces.result:
            reason = "the archive that arrived is not the one that was read"
            raise SnapshotDamaged(snapshot=take.archive.id, reason=reason)
        return ArchiveOf(take.archive.id, taken.size_bytes, taken.sha256)

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
