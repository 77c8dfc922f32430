"""Whether the workspace can be backed up: it is there, it is no link, and no restore of it was interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scratchflow.disk.durable import is_there
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.restore import RestoreIncomplete, RestoreUnfinishable
from scratchflow.model.errors.workspace import (
    WorkspaceFailed,
    WorkspaceIsLink,
    WorkspaceMissing,
    WorkspaceOfProfile,
)
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.node.context import NodeContext
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.workspace.notes import Base, Restoring, noted_base, read_restoring
from scratchflow.workspace.workspace import linked_root


def require_workspace(context: NodeContext) -> None:
    """WorkspaceMissing, or WorkspaceIsLink, when there is nothing that could be backed up."""
    try:
        refuse_links(context.workspace.scratch, context.workspace.roots)
        is_there = context.workspace.path.is_dir()
    except OSError as error:
        path = error.filename or context.workspace.path
        raise WorkspaceFailed(path=path, reason=error.strerror) from None
    if not is_there:
        raise WorkspaceMissing(path=context.workspace.path)


def require_backupable(context: NodeContext) -> None:
    """A workspace that is not there, or is half of two states, is not backed up."""
    interrupted = unfinished_restore(context)
    if interrupted:
        raise incomplete(context, interrupted)
    require_workspace(context)


def require_own(context: NodeContext) -> None:
    """WorkspaceOfProfile when another profile has saved it last, into another store.

    For backups that nobody asked for by name: a `backup` that is typed takes it over.
    """
    theirs = of_other_profile(context)
    if theirs:
        path = context.workspace.path
        raise WorkspaceOfProfile(path=path, profile=theirs.profile, store=theirs.store)


def of_other_profile(context: NodeContext) -> Base | None:
    """What the other profile noted; None when that is this one, or when its store has no snapshot of it any more."""
    base = noted_base(context.workspace)
    if base is None or base.profile in {"", context.settings.name}:
        return None
    if base.store == str(context.store):
        return None
    try:
        known = read_catalogue(find_place(Path(base.store), context.workspace.name))
    except ScratchflowError:  # whether it is lost there cannot be said: it stays theirs
        return base
    return base if known.snapshots or known.skipped else None


def incomplete(context: NodeContext, interrupted: Restoring) -> RestoreIncomplete:
    """The error for a restore that did not finish; another one if it never can."""
    fields = {"snapshot": interrupted.snapshot, "target": context.workspace.path}
    try:
        place = find_place(context.store, context.workspace.name)
        is_gone = place.directory.is_dir() and not _is_listed(place, interrupted.snapshot)
    except (OSError, ScratchflowError):  # a store that cannot be read says nothing about it
        is_gone = False
    return RestoreUnfinishable(**fields) if is_gone else RestoreIncomplete(**fields)


def _is_listed(place: StoreDirectory, snapshot: str) -> bool:
    return is_snapshot_id(snapshot) and is_there(place.manifest(snapshot))


def unfinished_restore(context: NodeContext) -> Restoring | None:
    """The restore that runs, or was interrupted: who has the workspace's lock knows which."""
    try:
        return read_restoring(context.workspace)
    except OSError as error:
        raise WorkspaceFailed(path=context.workspace.path, reason=error.strerror) from None


def refuse_links(scratch: Path, roots: Sequence[str]) -> None:
    """WorkspaceIsLink when one of these is a symlink, or lies behind one."""
    link = linked_root(scratch, roots)
    if link is not None:
        raise WorkspaceIsLink(path=link)
