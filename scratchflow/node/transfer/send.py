"""`snapshots send`: a snapshot, or a part of it, as one complete archive to whoever asks, piece by piece.

Needs the store alone, so that a result can be taken home when the job that made it is over.
"""

from __future__ import annotations

from pathlib import Path

from scratchflow.archive.foreign.importer import write_complete
from scratchflow.archive.foreign.own_members import OwnMembers
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.write.archive_out import Out
from scratchflow.archive.write.streamed import Streamed
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.events import Data, Progress
from scratchflow.model.requests import Send
from scratchflow.model.results.transfer import SnapshotSent
from scratchflow.model.snapshot import Manifest
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.beside import place_inside
from scratchflow.node.restore.source import RestoreOptions, Source, find_source
from scratchflow.node.restore.steps import chosen_part
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.directory import find_place

_COPY_BYTES = 1 << 20


def send_snapshot(context: NodeContext, notify: Notifier, asked: Send) -> SnapshotSent:
    """Sends it as `Data` events; with a dry run only says what it would be.

    Every byte is checked on the way: SnapshotDamaged when one differs, and whoever receives throws away
    what came.
    """
    place = find_place(context.store, context.workspace.name)
    if not asked.dry_run:
        forget_old_listing(place)
    elsewhere = Path("/")  # the workspace has no part in it
    options = RestoreOptions(
        snapshot=asked.snapshot,
        paths=asked.paths,
        to=elsewhere,
        dry_run=asked.dry_run,
        zone=asked.zone,
    )
    with find_source(context, notify, options, place, read_catalogue(place), None) as source:
        select = chosen_part(context, source, options)
        size, digest = (0, "") if asked.dry_run else _send(context, notify, source, select)
        if asked.dry_run and asked.lists:
            digest = _send_list(notify, source, select)
        counts = source.index.counts()
        members = _members(source, select)
        return SnapshotSent(
            snapshot=source.id,
            files=counts.files,
            bytes=counts.bytes,
            written_files=members.files,
            written_bytes=members.size_bytes,
            size_bytes=size,
            digest=digest,
            place=place_inside(source, select, context.workspace.name),
        )


def _send_list(notify: Notifier, source: Source, select: Selection | None) -> str:
    """Sends what a directory is compared with; its digest."""
    from scratchflow.node.restore.listed_part import listed_part

    content = listed_part(source.index, select).encoded()
    for start in range(0, len(content), _COPY_BYTES):
        notify.emit(Data(content=content[start : start + _COPY_BYTES]))
    return WholeDigest().text(content)


def _members(source: Source, select: Selection | None) -> OwnMembers:
    return OwnMembers(source.index, source.open_archive, select.entries if select else None)


def _send(
    context: NodeContext, notify: Notifier, source: Source, select: Selection | None
) -> tuple[int, str]:
    digest = WholeDigest()
    size = 0
    reached = _Reached()
    pieces = Streamed(lambda out: _write(context, source, select, out, reached))
    try:
        for piece in pieces:
            if not piece:
                continue
            digest.update(piece)
            size += len(piece)
            notify.emit(Data(content=piece))
            notify.emit(reached.event)
    finally:
        pieces.close()
    return size, digest.text()


class _Reached:
    """How far the thread has come that writes: told by the one that sends."""

    event = Progress(phase="send")

    def __call__(self, _phase: str, files: int, of: int, done: int, of_bytes: int) -> None:
        self.event = Progress(
            phase="send", files_done=files, files_total=of, bytes_done=done, bytes_total=of_bytes
        )


def _write(
    context: NodeContext, source: Source, select: Selection | None, out: Out, reached: _Reached
) -> None:
    manifest = source.manifest
    if manifest is not None and manifest.kind == "full" and select is None:
        _copy(source.open_archive(source.id), out, manifest, reached)
        return
    write_complete(
        _members(source, select),
        out,
        archive_id=source.id,
        roots=source.roots,
        level=context.profile.backup.level,
        progress=reached,
    )


def _copy(archive: Path, out: Out, manifest: Manifest, reached: _Reached) -> None:
    """A full snapshot is such an archive already."""
    digest = WholeDigest(manifest.archive_digest)
    done = 0
    with archive.open("rb") as file:
        while piece := file.read(_COPY_BYTES):
            digest.update(piece)
            out.write(piece)
            done += len(piece)
            share = done / max(1, manifest.archive_bytes)
            reached(
                "send",
                int(manifest.files * share),
                manifest.files,
                int(manifest.bytes * share),
                manifest.bytes,
            )
    if digest.text() != manifest.archive_digest:
        reason = "its archive does not match the digest in its manifest"
        raise SnapshotDamaged(snapshot=manifest.id, reason=reason, archive=manifest.id)
