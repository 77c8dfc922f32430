"""`restore --to laptop:DIR` and `snapshots export laptop:FILE`: from the store to the machine this is typed on."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from scratchflow.dispatch.cluster import Caller, Cluster, at_workspace, cluster_of, is_here
from scratchflow.flows.bring import absolute
from scratchflow.model.errors import FileFailed, FileTaken, StreamBroken, TargetFull
from scratchflow.model.events import Data, Emit, Event
from scratchflow.model.requests import Export, Restore, Send
from scratchflow.model.results import Restored, SnapshotExported, SnapshotSent
from scratchflow.model.text import printable


def restore_here(caller: Caller, request: Restore, directory: str, emit: Emit) -> Restored:
    """A snapshot, or the paths of it, into a directory of this machine."""
    settings = caller.settings()
    target = absolute(directory)
    if is_here(settings, caller.environment):
        local = msgspec.structs.replace(request, to=str(target))
        restored = at_workspace("restore", local, caller, emit)
        if not isinstance(restored, Restored):
            raise TypeError(type(restored))
        return restored
    from scratchflow.disk.trees import is_empty_or_missing

    with _errors_at(target):
        if not request.paths and not is_empty_or_missing(target):
            raise FileTaken(path=target)
    with cluster_of(settings, caller, emit) as cluster:
        return _fetch(cluster, request, target, emit)


def _fetch(cluster: Cluster, request: Restore, target: Path, emit: Emit) -> Restored:
    started_s = time.monotonic()
    asked = Send(snapshot=request.snapshot, paths=request.paths, dry_run=True, zone=request.zone)
    found = cluster.at_workspace("snapshots send", asked, SnapshotSent)
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
    )
    if request.dry_run:
        return restored
    files, size_bytes = _receive_into(cluster, found.snapshot, request.paths, target, emit)
    took_s = round(time.monotonic() - started_s, 3)
    return msgspec.structs.replace(
        restored, written_files=files, written_bytes=size_bytes, duration_s=took_s
    )


def _receive_into(
    cluster: Cluster, snapshot: str, paths: tuple[str, ...], target: Path, emit: Emit
) -> tuple[int, int]:
    """Takes the archive in beside the target first: the files appear when all of it is there, and whole."""
    from scratchflow.archive.read.reader import open_index
    from scratchflow.disk.building import building_beside, sweep_beside
    from scratchflow.node.progress import Notifier
    from scratchflow.node.restore.elsewhere import build, extract_part
    from scratchflow.node.restore.source import Source

    notify = Notifier(emit, wants_items=cluster.caller.verbose)
    with _errors_at(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep_beside(target.parent)
        with building_beside(target, os.urandom(4).hex()) as room:
            archive = room / "received.tar.lz4"
            with archive.open("xb", buffering=0) as file:
                asked = Send(snapshot=snapshot, paths=paths)
                _receive(cluster, asked, file.fileno(), emit)
            index = open_index(archive)
            source = Source(snapshot, index, index.roots, lambda _: archive)
            if paths:
                extracted = extract_part(source, target, notify, None)
            else:
                extracted = build(source, target, notify, os.urandom(4).hex())
    return extracted.files, extracted.bytes


def export_here(caller: Caller, request: Export, file: str, emit: Emit) -> SnapshotExported:
    """A snapshot as one plain file of this machine."""
    settings = caller.settings()
    path = absolute(file)
    if is_here(settings, caller.environment):
        local = msgspec.structs.replace(request, file=str(path))
        exported = at_workspace("snapshots export", local, caller, emit)
        if not isinstance(exported, SnapshotExported):
            raise TypeError(type(exported))
        return exported
    from scratchflow.node.transfer import free_path, new_file

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
    digest = hashlib.sha256()

    def take(event: Event) -> None:
        if not isinstance(event, Data):
            emit(event)
            return
        digest.update(event.content)
        rest = memoryview(event.content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    sent = cluster.at_workspace("snapshots send", asked, SnapshotSent, emit=take)
    if sent.sha256 != digest.hexdigest():
        raise StreamBroken(reason="its SHA-256 is not the one of the bytes that were sent")
    return sent


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
