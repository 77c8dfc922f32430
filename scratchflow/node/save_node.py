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
from scratchflow.node.context import Here
from scratchflow.node.progress import Teller
from scratchflow.node.settle import present_base
from scratchflow.node.snapshot import Wish
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


def save_node(here: Here, teller: Teller, wish: SaveNode) -> NodeSaved:
    """Saves all of it; fails only when the profile's own workspace cannot be saved."""
    unsaved = _Unsaved()
    held = _save_own(here, teller, wish)
    if held is not None:
        unsaved.add(held.taken)
    else:
        for root in _alone(here):
            unsaved.add_path(f"{root} (`{here.workspace.name}` beside it is gone)")
    for path in _moved_aside(here.workspace):
        unsaved.add_path(f"{path} (moved aside by a restore)")
    others = {}
    for name in _known_workspaces(here.workspace.scratch):
        if _is_other(here, name):
            others[name] = _save_other(here, teller, wish, name, unsaved)
    return NodeSaved(
        snapshot=held.taken.snapshot if held else None,
        read_back_age_s=held.read_back_age_s if held else None,
        others={name: snapshot for name, snapshot in others.items() if snapshot},
        unsaved=unsaved.count,
        unsaved_paths=unsaved.shown[:_SHOWN],
    )


def _save_own(here: Here, teller: Teller, wish: SaveNode) -> _Held | None:
    place = find_place(here.store, here.workspace.name)
    # Looked at before the backup, which makes the copy this job's own. A copy that an earlier job
    # left here is saved, but is not what the next `up` is to bring. What was never saved is present.
    came_from = noted_base(here.workspace)
    is_old = came_from is not None and present_base(here, place) is None
    try:
        final = Wish(message=wish.message, purpose="final", keeps_newest=is_old)
        return _save_whole(here, teller, final)
    except WorkspaceMissing:
        return None


def _save_whole(here: Here, teller: Teller, final: Wish) -> _Held:
    """A backup, in a snapshot that is whole in the store: a damaged one is noted, and all is stored anew."""
    taken = backup(here, teller, final)
    checked = check_saved(here, teller, taken)
    if checked.problem:
        message = f"snapshot {taken.snapshot} is damaged: {checked.problem}"
        teller.warn("snapshots.damaged", b"", message)
        taken = backup(here, teller, final)
        checked = check_saved(here, teller, taken)
    if checked.problem:
        raise SnapshotDamaged(snapshot=taken.snapshot, reason=checked.problem)
    return _Held(taken, checked.age_s)


def _alone(here: Here) -> list[str]:
    """Directories that are saved with the workspace, but are here without it."""
    roots = set(here.workspace.also)
    base = noted_base(here.workspace)
    known = _manifest(here.workspace.name, base) if base else None
    roots |= set(known.also) if known else set()
    return [root for root in sorted(roots) if may_hold_something(here.workspace.scratch / root)]


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


def _is_other(here: Here, name: str) -> bool:
    """Not the profile's own, and not beneath what was saved with it."""
    path = here.workspace.scratch / name
    roots = [here.workspace.scratch / root for root in here.workspace.roots]
    return not any(path.is_relative_to(root) for root in roots) and may_hold_something(path)


def _save_other(
    here: Here, teller: Teller, wish: SaveNode, name: str, unsaved: _Unsaved
) -> str | None:
    """Into the store that it came from, as its last snapshot was taken; its retention is not ours."""
    workspace = Workspace(here.workspace.scratch, name)
    base = noted_base(workspace)
    try:
        known = _manifest(name, base) if base else None
        if base is None or known is None:
            unsaved.add_path(f"{name} (no store has the snapshot that it came from)")
            return None
        there = _as_known(here, name, base, known)
        final = Wish(message=wish.message, purpose="final", prune=False)
        saved = _save_whole(there, teller, final).taken
    except ScratchflowError as error:
        unsaved.add_path(f"{name} ({error})")
        return None
    unsaved.add(saved)
    teller.remark(f"`{workspace.path}` is in snapshot {saved.snapshot} of `{base.store}`")
    return saved.snapshot


def _as_known(here: Here, name: str, base: Base, known: Manifest) -> Here:
    """This machine with the other workspace's settings, as far as its last manifest has them."""
    profile = here.profile
    options = msgspec.structs.replace(profile.backup, also=known.also, exclude=known.exclude)
    profile = msgspec.structs.replace(profile, workspace=name, store=base.store, backup=options)
    return msgspec.structs.replace(
        here,
        settings=msgspec.structs.replace(here.settings, profile=profile),
        workspace=Workspace(here.workspace.scratch, name, tuple(known.also)),
        store=Path(base.store),
        # The login host named the id of the profile's own place. This one is known by its snapshot.
        store_seen=None,
    )


def _manifest(name: str, base: Base) -> Manifest | None:
    """The snapshot that a workspace came from, if its store still has it."""
    catalogue = read_catalogue(find_place(Path(base.store), name))
    return next((one for one in catalogue.snapshots if one.id == base.snapshot), None)
