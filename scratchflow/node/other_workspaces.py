"""Other workspaces of ours on this machine's scratch: made with `--set workspace=`, by another profile, or renamed since.

Each is saved as its last snapshot was taken, into the store that it came from.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from scratchflow.disk.trees import may_hold_something
from scratchflow.model.errors.workspace import WorkspaceFailed
from scratchflow.model.snapshot import Manifest
from scratchflow.node.context import NodeContext
from scratchflow.node.settle import present_base
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.store.identity import read_store_id
from scratchflow.workspace.notes import Base, known_workspaces, noted_base, read_restoring
from scratchflow.workspace.workspace import Workspace


class WorkspaceUnknown(Exception):
    """A workspace whose snapshots are nowhere: it is not known how to save it, or where."""


def other_workspaces(context: NodeContext) -> list[str]:
    """Their names: those that hold something, and are not saved with the profile's own."""
    try:
        names = known_workspaces(context.workspace.scratch)
    except OSError as error:
        path = error.filename or context.workspace.scratch
        raise WorkspaceFailed(path=path, reason=error.strerror) from None
    return [name for name in names if _is_other(context, name)]


def _is_other(context: NodeContext, name: str) -> bool:
    path = context.workspace.scratch / name
    roots = [context.workspace.scratch / root for root in context.workspace.roots]
    return not any(path.is_relative_to(root) for root in roots) and may_hold_something(path)


def as_known(context: NodeContext, name: str) -> NodeContext:
    """This machine with that workspace's settings, as far as its last manifest has them."""
    scratch = context.workspace.scratch
    base = came_from(context, name)
    known = _known(scratch, name, base) if base else None
    if known is None and half_restored_from(context, name):
        known = _Known([], [])  # none is saved before the restore has ended
    if base is None or known is None:
        raise WorkspaceUnknown("no store has the snapshot that it came from")
    profile = context.profile
    options = msgspec.structs.replace(profile.backup, also=known.also, exclude=known.exclude)
    profile = msgspec.structs.replace(profile, workspace=name, store=base.store, backup=options)
    settings = msgspec.structs.replace(context.settings, name=base.profile, profile=profile)
    return msgspec.structs.replace(
        context,
        settings=settings,
        workspace=Workspace(scratch, name, tuple(known.also)),
        store=Path(base.store),
        # The login host named the id of the profile's own place. This one is known by its snapshot.
        store_seen=None,
    )


def came_from(context: NodeContext, name: str) -> Base | None:
    """The snapshot that it came from; while its restore has not finished, the one that is restored.

    That note is read first: a restore that ends between the two looks has noted its snapshot by then.
    """
    workspace = Workspace(context.workspace.scratch, name)
    half = read_restoring(workspace)
    base = noted_base(workspace)
    half = half or read_restoring(workspace)
    if base is not None or half is None:
        return base
    return Base(
        snapshot=half.snapshot,
        store=half.store or str(context.store),
        profile=half.profile or context.settings.name,
    )


def half_restored_from(context: NodeContext, name: str) -> str:
    """The snapshot of a restore into it that has not finished; empty when there is none."""
    half = read_restoring(Workspace(context.workspace.scratch, name))
    return half.snapshot if half else ""


class _Known(msgspec.Struct, frozen=True):
    """What is saved with a workspace, and what is not."""

    also: list[str]
    exclude: list[str]


def _known(scratch: Path, name: str, base: Base) -> _Known | None:
    """As in the snapshot that it came from; when that was removed by and by, what loses nothing.

    Then every directory counts that any snapshot was taken with, and only what all of them left out stays out.
    """
    place = find_place(Path(base.store), name)
    snapshots = read_catalogue(place).snapshots
    for one in snapshots:
        if one.id == base.snapshot:
            return _Known(list(one.also), list(one.exclude))
    if not snapshots or not base.store_id or read_store_id(place) != base.store_id:
        return None
    also = dict.fromkeys(root for one in snapshots for root in one.also)
    left_out = [
        pattern
        for pattern in snapshots[-1].exclude
        if all(pattern in one.exclude for one in snapshots)
    ]
    return _Known([root for root in also if may_hold_something(scratch / root)], left_out)


def is_old_copy(context: NodeContext) -> bool:
    """Whether an earlier job left it here and work went on elsewhere since.

    It is saved, but is not what the next `up` is to bring. What was never saved is present.
    """
    place = find_place(context.store, context.workspace.name)
    return noted_base(context.workspace) is not None and present_base(context, place) is None


def new_manifest(name: str, base: Base) -> Manifest | None:
    """The snapshot that a workspace came from, if its store still has it."""
    catalogue = read_catalogue(find_place(Path(base.store), name))
    return next((one for one in catalogue.snapshots if one.id == base.snapshot), None)
