"""`restore --to laptop:DIR` and `snapshots export laptop:FILE`: from the store to the machine this is typed on."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.dispatch.cluster import Caller, Cluster, at_workspace_as, cluster_of, is_here
from scratchflow.flows.transfer.bring import absolute
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import PathInOthers, PathKeptOut, PathMissing, PathUnsaved
from scratchflow.model.errors.store import TargetFull
from scratchflow.model.errors.transfer import FileFailed, FileTaken
from scratchflow.model.events import Data, Emit, Event, Warned
from scratchflow.model.requests import Export, Newer, Restore, Send
from scratchflow.model.results.restore import Restored
from scratchflow.model.results.transfer import NewerFound, SnapshotExported, SnapshotSent
from scratchflow.model.text import printable

if TYPE_CHECKING:
    from scratchflow.node.restore.beside import Beside, PutBeside


def restore_here(caller: Caller, request: Restore, directory: str, emit: Emit) -> Restored:
    """A snapshot, or the paths of it, into a directory of this machine."""
    settings = caller.settings()
    target = absolute(directory)
    if is_here(settings, caller.environment):
        local = msgspec.structs.replace(request, to=str(target))
        return at_workspace_as(Restored, "restore", local, caller, emit)
    from scratchflow.disk.trees import is_empty_or_missing

    with _errors_at(target):
        if not request.paths and not is_empty_or_missing(target):
            raise FileTaken(path=target)
    with cluster_of(settings, caller, emit) as cluster:
        return _fetch(cluster, request, target, emit)


def _fetch(cluster: Cluster, request: Restore, target: Path, emit: Emit) -> Restored:
    started_s = time.monotonic()
    is_tried_part = request.dry_run and bool(request.paths)
    asked = Send(
        snapshot=request.snapshot,
        paths=request.paths,
        dry_run=True,
        zone=request.zone,
        lists=is_tried_part,
    )
    pieces: list[bytes] = []
    try:
        found = cluster.at_workspace(
            "snapshots send", asked, SnapshotSent, emit=_collecting(pieces, emit)
        )
    except (PathMissing, PathInOthers) as error:
        raise _unsaved(cluster, request, error) from None
    _warn_of_newer(cluster, request, found.snapshot, emit)
    restored = Restored(
        snapshot=found.snapshot,
        mode="full",
        target=printable(target),
        files=found.files,
        bytes=found.bytes,
        written_files=found.written_files,
        written_bytes=found.written_bytes,
        duration_s=0.0,
        dry_run=request.dry_run,
        host=os.uname().nodename,
        place=printable(target / found.place),
    )
    if request.dry_run and not is_tried_part:
        return restored
    if is_tried_part:
        listed = b"".join(pieces)
        _require_as_sent(found, WholeDigest().text(listed))
        put = _would_put(cluster, listed, found.snapshot, request, target, emit)
    else:
        put = _receive_into(cluster, found.snapshot, request, target, emit)
    took_s = round(time.monotonic() - started_s, 3)
    return msgspec.structs.replace(
        restored,
        mode="full" if put.is_news else "nothing",
        written_files=put.files,
        written_bytes=put.bytes,
        moved_aside=put.moved_aside,
        duration_s=took_s,
    )


def _collecting(pieces: list[bytes], emit: Emit) -> Emit:
    """Keeps the pieces of what is sent, and passes on everything else."""

    def take(event: Event) -> None:
        pieces.append(event.content) if isinstance(event, Data) else emit(event)

    return take


def _would_put(
    cluster: Cluster, listed: bytes, snapshot: str, request: Restore, target: Path, emit: Emit
) -> PutBeside:
    """What would become of the directory; TargetDiffers where it would be refused."""
    from scratchflow.node.progress import Notifier
    from scratchflow.node.restore.listed_part import ListedPart, would_put_beside

    where = _beside(cluster, snapshot, request, target)
    with _errors_at(target):
        return would_put_beside(ListedPart.decoded(listed), where, Notifier(emit))


def _beside(cluster: Cluster, snapshot: str, request: Restore, target: Path) -> Beside:
    from scratchflow.node.restore.beside import Beside

    return Beside(
        target=target,
        workspace=cluster.settings.profile.workspace,
        token=os.urandom(4).hex(),
        aside_id=snapshot,
        replace=request.replace,
    )


def _newer(cluster: Cluster, request: Restore, snapshot: str) -> NewerFound | None:
    """What the node has newer of the paths; None when no node is held, or it does not say."""
    if request.snapshot != "latest":
        return None
    asked = Newer(snapshot=snapshot, paths=request.paths)
    try:
        return cluster.at_workspace("snapshots newer", asked, NewerFound, emit=lambda _: None)
    except ScratchflowError:  # what is in the store can be taken home all the same
        return None


def _unsaved(cluster: Cluster, request: Restore, error: ScratchflowError) -> ScratchflowError:
    """The same error, or the one that says that the path is in the workspace."""
    found = _newer(cluster, request, request.snapshot)
    if found is None or not found.unsaved:
        return error
    path = found.unsaved[0]
    why = PathKeptOut if path in found.kept_out else PathUnsaved
    return why(snapshot=found.snapshot, path=path)


def _warn_of_newer(cluster: Cluster, request: Restore, snapshot: str, emit: Emit) -> None:
    from scratchflow.node.restore.unsaved import NEWER, words_of

    found = _newer(cluster, request, snapshot)
    for message in words_of(found) if found else ():
        emit(Warned(code=NEWER, message=message))


def _receive_into(
    cluster: Cluster, snapshot: str, request: Restore, target: Path, emit: Emit
) -> PutBeside:
    """Takes the archive in beside the target first: the files appear when all of it is there, and whole."""
    from scratchflow.archive.read.archive_file import open_index
    from scratchflow.disk.building import building_beside, sweep_beside
    from scratchflow.node.progress import Notifier
    from scratchflow.node.restore.beside import PutBeside, put_beside
    from scratchflow.node.restore.elsewhere import build
    from scratchflow.node.restore.source import Source

    notify = Notifier(emit, wants_items=cluster.caller.verbose)
    with _errors_at(target):
        # What is to be put beside other files is built among them: above them nothing need be ours.
        place = target / "received" if request.paths else target
        place.parent.mkdir(parents=True, exist_ok=True)
        sweep_beside(place.parent)
        with building_beside(place, os.urandom(4).hex()) as room:
            archive = room / "received.tar.lz4"
            with archive.open("xb", buffering=0) as file:
                asked = Send(snapshot=snapshot, paths=request.paths)
                _receive(cluster, asked, file.fileno(), emit)
            index = open_index(archive)
            source = Source(snapshot, index, index.roots, lambda _: archive)
            if not request.paths:
                extracted = build(source, target, notify, os.urandom(4).hex())
                return PutBeside(extracted.files, extracted.bytes)
            return put_beside(source, _beside(cluster, snapshot, request, target), notify, None)


def export_here(caller: Caller, request: Export, file: str, emit: Emit) -> SnapshotExported:
    """A snapshot as one plain file of this machine."""
    settings = caller.settings()
    path = absolute(file)
    if is_here(settings, caller.environment):
        local = msgspec.structs.replace(request, file=str(path))
        return at_workspace_as(SnapshotExported, "snapshots export", local, caller, emit)
    from scratchflow.node.transfer.transfer import free_path, new_file

    target = free_path(path)
    with cluster_of(settings, caller, emit) as cluster:
        asked = Send(snapshot=request.snapshot, dry_run=True, zone=request.zone)
        found = cluster.at_workspace("snapshots send", asked, SnapshotSent)
        exported = SnapshotExported(
            snapshot=found.snapshot,
            path=printable(target),
            bytes=found.bytes,
            dry_run=request.dry_run,
            host=os.uname().nodename,
        )
        if request.dry_run:
            return exported
        with new_file(target, os.urandom(4).hex()) as descriptor, _errors_at(target):
            asked = Send(snapshot=found.snapshot)
            sent = _receive(cluster, asked, descriptor, emit)
    return msgspec.structs.replace(exported, bytes=sent.size_bytes)


def _receive(cluster: Cluster, asked: Send, descriptor: int, emit: Emit) -> SnapshotSent:
    """Writes what is sent; StreamBroken when it is not what was sent."""
    digest = WholeDigest()

    def take(event: Event) -> None:
        if not isinstance(event, Data):
            emit(event)
            return
        digest.update(event.content)
        rest = memoryview(event.content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    sent = cluster.at_workspace("snapshots send", asked, SnapshotSent, emit=take)
    _require_as_sent(sent, digest.text())
    return sent


def _require_as_sent(sent: SnapshotSent, came: str) -> None:
    if sent.digest != came:
        raise StreamBroken(reason="its digest is not the one of the bytes that were sent")


@contextmanager
def _errors_at(target: Path) -> Iterator[None]:
    """What this machine's file system refuses, as errors of ours."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise TargetFull(path=target, reason=error.strerror) from error
        path = error.filename if isinstance(error.filename, str) else target
        raise FileFailed(path=path, reason=error.strerror) from error
