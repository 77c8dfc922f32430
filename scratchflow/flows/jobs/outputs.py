"""`jobs outputs`: what a job has made, listed, or brought to a directory of the node or of this machine."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import msgspec

from scratchflow.disk.holes import write_with_holes
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.flows.transfer.bring import absolute
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.events import Data, Emit, Event
from scratchflow.model.requests import JobOutputs, PutOutputs
from scratchflow.model.results.jobs import OutputsPut, OutputsShown
from scratchflow.node.job.outputs import put_in, unpack


def outputs(
    caller: Caller,
    emit: Emit,
    asked: JobOutputs,
    *,
    to: str | None = None,
    here: str | None = None,
    dry_run: bool = False,
) -> OutputsShown:
    """The list; with `to` they are put on the node, with `here` on this machine. What differs there is never replaced."""
    with cluster_of(caller.settings(), caller, emit) as cluster:
        found = cluster.on_login("jobs outputs", asked, OutputsShown)
        if not found.files or (to is None and here is None):
            return found
        # The job that was found: `last` may mean another one by now.
        asked = msgspec.structs.replace(asked, wanted=found.job, tasks=tuple(found.tasks))
        if here is not None:
            target = absolute(here) / found.place
            return _taken_home(cluster, asked, found, target, emit, dry_run=dry_run)
        request = PutOutputs(job=found.job, to=to or "", tasks=asked.tasks, dry_run=dry_run)
        put = cluster.at_workspace("job outputs", request, OutputsPut)
    return msgspec.structs.replace(found, put=put)


def _taken_home(
    cluster: Cluster,
    asked: JobOutputs,
    found: OutputsShown,
    target: Path,
    emit: Emit,
    *,
    dry_run: bool,
) -> OutputsShown:
    shown = found

    def fill(room: Path) -> list[str]:
        nonlocal shown
        archive = room.parent / "received.tar"
        shown = _receive(cluster, msgspec.structs.replace(asked, send=True), archive, emit)
        try:
            return unpack(archive, room)
        except tarfile.TarError as error:
            raise StreamBroken(reason=error) from error

    put = put_in(target, fill, dry_run=dry_run)
    return msgspec.structs.replace(shown, put=put)


def _receive(cluster: Cluster, asked: JobOutputs, archive: Path, emit: Emit) -> OutputsShown:
    """Writes what is sent; StreamBroken when it is not what was sent."""
    digest = hashlib.sha256()
    with archive.open("xb") as file:

        def take(event: Event) -> None:
            if not isinstance(event, Data):
                emit(event)
                return
            digest.update(event.content)
            write_with_holes(file, event.content)

        sent = cluster.on_login("jobs outputs", asked, OutputsShown, emit=take)
        file.truncate()
    if sent.sha256 != digest.hexdigest():
        raise StreamBroken(reason="its SHA-256 is not the one of the bytes that were sent")
    return sent
