"""`save node`: everything of ours on this node goes into snapshots before the node is given back.

That is the profile's workspace, and every other one whose notes are on this scratch: a workspace that was
renamed in the configuration, or another profile's. What could not be saved is named; the caller decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scratchflow.disk.trees import may_hold_something
from scratchflow.model.errors import (
    ScratchflowError,
    SnapshotDamaged,
    WorkspaceFailed,
    WorkspaceMissing,
)
from scratchflow.model.requests import SaveNode
from scratchflow.model.results import BackupTaken, NodeSaved
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import printable
from scratchflow.node.backup import backup
from scratchflow.node.check_saved import check_saved
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.settle import present_base
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.workspace.notes import Base, known_workspaces, noted_base
from scratchflow.workspace.workspace import Workspace

_SHOWN = 20


class _Unsaved(msgspec.Struct):
    """What is in no snapshot: how much, and the first of it by name."""

    count: int = 0
    shown: list[str] = msgspec.field(default_factory=list)

    def add(self, taken: BackupTaken) -> None:
        self.count += taken.unsaved
        self.shown += taken.unsaved_paths

    def add_path(self, path: str) -> None:
        self.count += 1
        self.shown.append(printable(path))


class _Held(msgspec.Struct, frozen=True):
    """The last snapshot of a workspace, and how long ago it was read back."""

    taken: BackupTaken
    read_back_age_s: int | None


def save_node(context: NodeContext, notify: Notifier, request: SaveNode) -> NodeSaved:
    """Saves all of it; fails only when the profile's own workspace cannot be saved."""
    unsaved = _Unsaved()
    held = _save_own(context, notify, request)
    if held is not None:
        unsaved.add(held.taken)
    else:
        for root in _alone(context):
            unsaved.add_path(f"{root} (`{context.workspace.name}` beside it is gone)")
    for path in _moved_aside(context.workspace):
        unsaved.add_path(f"{path} (moved aside by a restore)")
    others = {}
    for name in _known_workspaces(context.workspace.scratch):
        if _is_other(context, name):
            others[name] = _save_other(context, notify, request, name, unsaved)
    return NodeSaved(
        snapshot=held.taken.snapshot if held else None,
        read_back_age_s=held.read_back_age_s if held else None,
        others={name: snapshot for name, snapshot in others.items() if snapshot},
        unsaved=unsaved.count,
        unsaved_paths=unsaved.shown[:_SHOWN],
    )


def _save_own(context: NodeContext, notify: Notifier, request: SaveNode) -> _Held | None:
    place = find_place(context.store, context.workspace.name)
    # Looked at before the backup, which makes the copy this job's own. A copy that an earlier job
    # left here is saved, but is not what the next `up` is to bring. What was never saved is present.
    came_from = noted_base(context.workspace)
    is_old = came_from is not None and present_base(context, place) is None
    try:
        final = SnapshotOptions(message=request.message, purpose="final", keeps_newest=is_old)
        return _save_whole(context, notify, final)
    except WorkspaceMissing:
        return None


def _save_whole(context: NodeContext, notify: Notifier, final: SnapshotOptions) -> _Held:
    """A backup, in a snapshot that is whole in the store: a damaged one is noted, and all is stored anew."""
    taken = backup(context, notify, final)
    checked = check_saved(context, notify, taken)
    if checked.problem:
        message = f"snapshot {taken.snapshot} is damaged: {checked.problem}"
        notify.warn("snapshots.damaged", b"", message)
        taken = backup(context, notify, final)
        checked = check_saved(context, notify, taken)
    if checked.problem:
        raise SnapshotDamaged(snapshot=taken.snapshot, reason=checked.problem)
    return _Held(taken, checked.age_s)


def _alone(context: NodeContext) -> list[str]:
    """Directories that are saved with the workspace, but are here without it."""
    roots = set(context.workspace.also)
    base = noted_base(context.workspace)
    known = new_manifest(context.workspace.name, base) if base else None
    roots |= set(known.also) if known else set()
    return [root for root in sorted(roots) if may_hold_something(context.workspace.scratch / root)]


def _moved_aside(workspace: Workspace) -> Iterator[str]:
    """`<root>.before-<id>`: what a restore found in its place. No snapshot need hold it."""
    for root in workspace.roots:
        path = workspace.scratch / root
        try:
            names = sorted(os.listdir(path.parent))
        except OSError:
            continue
        for name in names:
            aside = path.parent / name
            if name.startswith(f"{path.name}.before-") and may_hold_something(aside):
                yield str(aside.relative_to(workspace.scratch))


def _known_workspaces(scratch: Path) -> list[str]:
    try:
        return known_workspaces(scratch)
    except OSError as error:
        raise WorkspaceFailed(path=error.filename or scratch, reason=error.strerror) from None


def _is_other(context: NodeContext, name: str) -> bool:
    """Not the profile's own, and not beneath what was saved with it."""
    path = context.workspace.scratch / name
    roots = [context.workspace.scratch / root for root in context.workspace.roots]
    return not any(path.is_relative_to(root) for root in roots) and may_hold_something(path)


def _save_other(
    context: NodeContext, notify: Notifier, request: SaveNode, name: str, unsaved: _Unsaved
) -> str | None:
    """Into the store that it came from, as its last snapshot was taken; its retention is not ours."""
    workspace = Workspace(context.workspace.scratch, name)
    base = noted_base(workspace)
    try:
        known = new_manifest(name, base) if base else None
        if base is None or known is None:
            unsaved.add_path(f"{name} (no store has the snapshot that it came from)")
            return None
        there = _as_known(context, name, base, known)
        final = SnapshotOptions(message=request.message, purpose="final", prune=False)
        saved = _save_whole(there, notify, final).taken
    except ScratchflowError as error:
        unsaved.add_path(f"{name} ({error})")
        return None
    unsaved.add(saved)
    notify.remark(f"`{workspace.path}` is in snapshot {saved.snapshot} of `{base.store}`")
    return saved.snapshot


def _as_known(context: NodeContext, name: str, base: Base, known: Manifest) -> NodeContext:
    """This machine with the other workspace's settings, as far as its last manifest has them."""
    profile = context.profile
    options = msgspec.structs.replace(profile.backup, also=known.also, exclude=known.exclude)
    profile = msgspec.structs.replace(profile, workspace=name, store=base.store, backup=options)
    return msgspec.structs.replace(
        context,
        settings=msgspec.structs.replace(context.settings, profile=profile),
        workspace=Workspace(context.workspace.scratch, name, tuple(known.also)),
        store=Path(base.store),
        # The login host named the id of the profile's own place. This one is known by its snapshot.
        store_seen=None,
    )


def new_manifest(name: str, base: Base) -> Manifest | None:
    """The snapshot that a workspace came from, if its store still has it."""
    catalogue = read_catalogue(find_place(Path(base.store), name))
    return next((one for one in catalogue.snapshots if one.id == base.snapshot), None)
