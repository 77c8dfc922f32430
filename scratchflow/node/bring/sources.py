"""The three sources of a new workspace, seen from the node: a directory, a stream, a git URL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from scratchflow.archive.tree.tree import Counts
from scratchflow.disk.private import PRIVATE
from scratchflow.disk.trees import remove_tree
from scratchflow.model.errors.workspace import CloneFailed, WorkspaceNotEmpty
from scratchflow.model.events import Progress
from scratchflow.model.requests import Create
from scratchflow.model.source import without_password
from scratchflow.model.text import printable
from scratchflow.node.backup import backup
from scratchflow.node.bring.first_snapshot import Fill, Filled, commit_first, receive
from scratchflow.node.bring.pack import Luggage, collect, pack, tracked_in, unusable
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.restore import restore
from scratchflow.node.restore.source import RestoreOptions
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.process.git import GitFailed, GitMissing, clone, require_repository
from scratchflow.store.commit.commit import NewSnapshot
from scratchflow.workspace.staging import begin_incoming, occupied_roots, swap_in
from scratchflow.workspace.workspace import STATE_NAME


class Brought(msgspec.Struct, frozen=True):
    """What is in the workspace now; with a dry run, what would be (`snapshot` is empty then)."""

    source: str
    snapshot: str = ""
    counts: Counts | None = None
    left_out: int = 0
    left_out_paths: list[str] = []


def refuse_content(context: NodeContext) -> None:
    """WorkspaceNotEmpty: what is there is in no snapshot."""
    if occupied_roots(context.workspace.scratch, [context.workspace.name]):
        raise WorkspaceNotEmpty(path=context.workspace.path, host=f"`{context.node}`")


def bring(
    context: NodeContext, notify: Notifier, request: Create, environment: Mapping[str, str]
) -> Brought:
    """Fills the workspace from the source that the request names, and takes the first snapshot of it."""
    if request.url:
        return _bring_clone(context, notify, request, environment)
    if request.directory is not None:
        return _bring_directory(
            context, notify, request, Path(os.path.expanduser(request.directory)), environment
        )
    fill = receive(context, notify, request.receives)
    return _put(context, notify, request.named or "a stream", fill, request.receives)


def _put(
    context: NodeContext, notify: Notifier, source: str, fill: Fill, snapshot: str = ""
) -> Brought:
    """Saves it as the first snapshot, and restores that."""
    shown = printable(source)
    taken, counts = commit_first(context, notify, f"created from {shown}", fill, snapshot)
    restore(context, notify, RestoreOptions(snapshot=taken))
    return Brought(shown, taken, counts)


def _bring_directory(
    context: NodeContext,
    notify: Notifier,
    request: Create,
    directory: Path,
    environment: Mapping[str, str],
) -> Brought:
    named = request.named or str(directory)
    _refuse_overlap(context, directory)
    notify.phase("scan")
    exclude = list(context.profile.backup.exclude)
    name = context.workspace.name
    tracked = tracked_in(directory, environment) if request.tracked else None
    luggage = collect(directory, name, exclude, notify.warn, tracked=tracked)
    if request.dry_run:
        brought = Brought(printable(named), counts=luggage.counts)
    else:
        brought = _put(context, notify, named, _packing(context, notify, luggage))
    left = {"left_out": luggage.left_out, "left_out_paths": luggage.left_out_paths}
    return msgspec.structs.replace(brought, **left)


def _packing(context: NodeContext, notify: Notifier, luggage: Luggage) -> Fill:
    def fill(new: NewSnapshot) -> Filled:
        written = pack(
            luggage,
            new.file,
            snapshot=new.snapshot,
            level=context.profile.backup.level,
            warn=notify.warn,
            progress=notify.progress,
        )
        return Filled(written.counts, written.digest)

    return fill


def _refuse_overlap(context: NodeContext, directory: Path) -> None:
    """A directory that holds the workspace or the store, or lies in one, would be brought into itself."""
    real = Path(os.path.realpath(directory))
    workspace = context.workspace
    places = {
        "workspace": workspace.path,
        "store": context.store / workspace.name,
        "scratch state": workspace.scratch / STATE_NAME,
    }
    for what, place in places.items():
        other = Path(os.path.realpath(place))
        if real.is_relative_to(other) or other.is_relative_to(real):
            step = "name a directory that neither holds the store or the workspace nor lies in one"
            raise unusable(directory, f"it overlaps with the {what}, `{place}`", step)


def _bring_clone(
    context: NodeContext, notify: Notifier, request: Create, environment: Mapping[str, str]
) -> Brought:
    """Clones beside the workspace, and renames: it is there whole, or not at all."""
    shown = printable(without_password(request.url))
    notify.phase("clone")

    def tell(_step: str, done: int, total: int) -> None:
        notify.emit(Progress(phase="clone", files_done=done, files_total=total))

    try:
        if request.dry_run:
            require_repository(request.url, environment)
            return Brought(shown)
        with context.alone(notify.remark):
            incoming = begin_incoming(context.workspace, context.token(4))
            try:
                target = incoming / context.workspace.name
                target.parent.mkdir(parents=True, exist_ok=True)
                clone(request.url, target, environment, tell)
                target.chmod(PRIVATE)
                refuse_content(context)
                name = context.workspace.name
                swap_in(incoming, context.workspace.scratch, [name], context.token(3))
            finally:
                remove_tree(incoming)
    except GitFailed as failed:
        raise _clone_failed(context, request.url, failed) from None
    options = SnapshotOptions(message=f"created from {shown}", purpose="created")
    taken = backup(context, notify, options)
    counts = Counts(taken.files, 0, 0, taken.bytes)
    return Brought(shown, taken.snapshot or "", counts)


def _clone_failed(context: NodeContext, url: str, failed: GitFailed) -> CloneFailed:
    shown = without_password(url)
    step = "clone it on the laptop, then `scratchflow create --from laptop:DIR`"
    if not isinstance(failed, GitMissing):
        step = (
            "the clone runs on the node with what your account has there (keys, credential helper), not with "
            f"your laptop's ssh agent; or {step}"
        )
    reason = str(failed).replace(url, shown)
    return CloneFailed(url=shown, host=f"`{context.node}`", reason=reason, next_step=step)
