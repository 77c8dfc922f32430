"""`create --from laptop:DIR`: a directory of this machine, sent to the node as the first snapshot."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from scratchflow.dispatch.cluster import Caller, Cluster, at_workspace_as, cluster_of, is_here
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.transfer import FileFailed
from scratchflow.model.events import Emit, Event, Progress, Warned, path_fields
from scratchflow.model.requests import Create
from scratchflow.model.results.create import ReadyToReceive, WorkspaceCreated
from scratchflow.model.text import printable
from scratchflow.model.units import format_size

WarnEvent = tuple[str, bytes, str]


def create_from_here(
    caller: Caller, request: Create, directory: str, emit: Emit
) -> WorkspaceCreated:
    """Brings a directory of the machine that this is typed on, wherever the workspace is."""
    settings = caller.settings()
    here = absolute(directory)
    if is_here(settings, caller.environment):
        local = msgspec.structs.replace(request, directory=str(here))
        return at_workspace_as(WorkspaceCreated, "create", local, caller, emit)
    _require_directory(here)
    tracked = _tracked_in(here, caller) if request.tracked else None
    with cluster_of(settings, caller, emit) as cluster:
        return _send(cluster, request, here, tracked, emit)


def absolute(path: str) -> Path:
    """A path of this machine in full; `~` is its home."""
    try:
        return Path(path).expanduser().absolute()
    except (OSError, RuntimeError) as error:  # no such home, or the current directory is gone
        raise FileFailed(path=path, reason=getattr(error, "strerror", None) or error) from None


def _require_directory(directory: Path) -> None:
    """Says so before a node is asked for anything."""
    from scratchflow.node.bring.pack import unusable

    try:
        os.scandir(directory).close()
    except OSError as error:
        raise unusable(directory, (error.strerror or str(error)).lower()) from None


def _tracked_in(directory: Path, caller: Caller) -> list[bytes]:
    """Refused before a node is asked, too: the first question to one makes the store."""
    from scratchflow.node.bring.pack import tracked_in

    return tracked_in(directory, caller.environment)


def _send(
    cluster: Cluster, request: Create, directory: Path, tracked: list[bytes] | None, emit: Emit
) -> WorkspaceCreated:
    from scratchflow.agent.upload import Upload
    from scratchflow.archive.write.streamed import Streamed
    from scratchflow.node.bring.pack import collect, pack

    # Asked first: a refusal comes before anything is read, and the agent is there when bytes follow.
    ready = cluster.at_workspace("create ready", request, ReadyToReceive)
    profile = cluster.settings.profile
    warnings = _Warnings(emit)
    emit(Progress(phase="scan"))
    luggage = collect(
        directory,
        ready.workspace,
        list(profile.backup.exclude),
        warnings.add,
        tracked=tracked,
    )
    warnings.tell()
    counts = luggage.counts
    _tell_room(ready, counts.bytes, emit)
    if request.dry_run:
        return WorkspaceCreated(
            path=ready.path,
            snapshot=None,
            host=ready.host,
            source=printable(request.named),
            files=counts.files,
            bytes=counts.bytes,
            left_out=luggage.left_out,
            left_out_paths=luggage.left_out_paths,
            dry_run=True,
        )
    sent = _Sent(counts.files, counts.bytes)
    pieces = Streamed(
        lambda out: pack(
            luggage,
            out,
            snapshot=ready.snapshot,
            level=profile.backup.level,
            warn=warnings.add,
            progress=sent,
            threads=1,
        )
    )
    upload = Upload(iter(pieces))
    asked = msgspec.structs.replace(request, receives=ready.snapshot)
    try:
        created = cluster.at_workspace(
            "create", asked, WorkspaceCreated, emit=sent.shown_by(emit), feed=upload.frames()
        )
    except ScratchflowError:
        if upload.error is not None:  # what the node says of it is only that it ended
            raise upload.error from None
        raise
    finally:
        pieces.close()
        warnings.tell()
    return msgspec.structs.replace(
        created, left_out=luggage.left_out, left_out_paths=luggage.left_out_paths
    )


def _tell_room(ready: ReadyToReceive, size_bytes: int, emit: Emit) -> None:
    """Holes and links may make it fit all the same, so it is told and not refused."""
    if ready.free_bytes is not None and size_bytes > ready.free_bytes:
        free, size = format_size(ready.free_bytes), format_size(size_bytes)
        message = f"`{ready.host}` has {free} free at `{ready.path}`, and the files have {size}"
        emit(Warned(code="create.little_room", message=message))


class _Warnings:
    """What was noticed while reading; told between two steps, by the thread that may."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._waiting: list[WarnEvent] = []

    def add(self, code: str, path: bytes, message: str) -> None:
        self._waiting.append((code, path, message))

    def tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for code, path, message in waiting:
            fields = path_fields(path) if path else {}
            self._emit(Warned(code=code, message=printable(message), **fields))


class _Sent:
    """How far this machine has come: what the node can tell is only how many packed bytes it has."""

    def __init__(self, files: int, size_bytes: int) -> None:
        self._event = Progress(phase="send", files_total=files, bytes_total=size_bytes)

    def __call__(self, _phase: str, files: int, of: int, done: int, of_bytes: int) -> None:
        self._event = Progress(
            phase="send", files_done=files, files_total=of, bytes_done=done, bytes_total=of_bytes
        )

    def shown_by(self, emit: Emit) -> Callable[[Event], None]:
        """Events of the node, its progress while it receives replaced by ours."""

        def tell(event: Event) -> None:
            is_receiving = isinstance(event, Progress) and event.phase == "receive"
            emit(self._event if is_receiving else event)

        return tell
