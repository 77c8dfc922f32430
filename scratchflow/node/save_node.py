"""`save node`: everything of ours on this node goes into snapshots before the node is given back.

That is the profile's workspace, and every other one whose notes are on this scratch: a workspace that was
renamed in the configuration, or another profile's, also at the path of this one's. Each goes into the store that it
came from. What could not be saved is named; the caller decides. A dry run
takes no lock and writes nothing: it tells what would be stored, and names what would not.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.archive.scan.ignore import patterns_in_force
from scratchflow.disk.trees import may_hold_something
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.restore import RestoreIncomplete, RestoreUnfinishable
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.requests import SaveNode
from scratchflow.model.results.backup import BackupTaken, NodeSaved
from scratchflow.model.text import printable, restore_command
from scratchflow.node.backup import backup, foretell_backup
from scratchflow.node.base_note import is_of_this_job, leave, was_of_this_job
from scratchflow.node.check_saved import check_saved
from scratchflow.node.context import NodeContext
from scratchflow.node.former_scratch import require_at_scratch
from scratchflow.node.job.leftovers import unknown_copies
from scratchflow.node.job.place import debug_copies, job_copies
from scratchflow.node.other_workspaces import (
    WorkspaceUnknown,
    as_known,
    is_old_copy,
    new_manifest,
    other_workspaces,
)
from scratchflow.node.progress import Notifier
from scratchflow.node.renamed import all_renamed, on_scratch, renamed_to, ways_out
from scratchflow.node.snapshot.allowed import of_other_profile
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.store.retention.newer import newer_elsewhere
from scratchflow.workspace.notes import noted_base
from scratchflow.workspace.workspace import Workspace

_SHOWN = 20


class _Unsaved(msgspec.Struct):
    """What is in no snapshot: how much, and the first of it by name."""

    count: int = 0
    shown: list[str] = msgspec.field(default_factory=list)
    # What to do, by reason: the first path of each serves as the example.
    ways: dict[str, str] = msgspec.field(default_factory=dict)

    def add(self, taken: BackupTaken) -> None:
        self.count += taken.unsaved
        self.shown += taken.unsaved_paths
        if taken.unsaved:
            self.ways["unreadable"] = "make files readable (`chmod`, `chown`) or delete them"

    def add_path(self, path: str, reason: str, way: str) -> None:
        self.count += 1
        self.shown.append(printable(path))
        self.ways.setdefault(reason, printable(way))


class _Held(msgspec.Struct, frozen=True):
    """The last snapshot of a workspace, and how long ago it was read back."""

    taken: BackupTaken
    read_back_age_s: int | None
    # The newest one, when this is of another copy, which is not the present work.
    newer: str | None = None


class _Saving(msgspec.Struct, frozen=True):
    """What was asked for, and what is noted on the way."""

    request: SaveNode
    unsaved: _Unsaved
    # Of a dry run, by name.
    foretold: dict[str, BackupTaken]


class _Other(msgspec.Struct, frozen=True):
    """Another workspace, saved: in which snapshot, and in which store unless that is the profile's."""

    snapshot: str
    store: str
    # It is work of this job and this profile.
    is_own: bool
    # An earlier job left it here, and work went on elsewhere.
    is_old: bool
    # Something was there that no snapshot had.
    stored: bool


def save_node(context: NodeContext, notify: Notifier, request: SaveNode) -> NodeSaved:
    """Saves all of it; fails only when the profile's own workspace cannot be saved."""
    require_at_scratch(context)
    unsaved = _Unsaved()
    saving = _Saving(request, unsaved, {})
    theirs = of_other_profile(context)
    held = None if theirs else _save_own(context, notify, saving)
    if held is not None:
        unsaved.add(held.taken)
    elif theirs is None:
        _add_alone(context, unsaved)
    names = [*([context.workspace.name] if theirs else []), *other_workspaces(context)]
    tried = {name: _save_other(context, notify, saving, name) for name in names}
    others = {name: other for name, other in tried.items() if other}
    for path in _moved_aside(context.workspace):
        if path not in tried:  # saved as a workspace of its own, or named already
            way = ways_out(context.workspace.scratch, context.workspace.scratch / path)
            unsaved.add_path(f"{path} (moved aside by a restore)", "aside", way)
    other_files = _without_renamed(context, unsaved, _other_files(context, tried))
    if held is None and theirs is None and not renamed_to(context.workspace, context.store):
        other_files = _without_possible(context, unsaved, other_files)
    return NodeSaved(
        snapshot=held.taken.snapshot if held else None,
        stored=held is not None and not request.dry_run and held.taken.kind != "unchanged",
        read_back_age_s=held.read_back_age_s if held else None,
        newer=held.newer if held else None,
        others={name: other.snapshot for name, other in others.items()},
        other_stores={name: other.store for name, other in others.items() if other.store},
        own_others=[name for name, other in others.items() if other.is_own],
        old_others=[name for name, other in others.items() if other.is_old and not other.stored],
        forked_others=[name for name, other in others.items() if other.is_old and other.stored],
        unsaved=unsaved.count,
        unsaved_paths=unsaved.shown[:_SHOWN],
        unsaved_ways=list(unsaved.ways.values()),
        excluded=_excluded(context) if held else [],
        other_files=other_files,
        debug_copies=_debug_copies(context.workspace),
        goes_with_job=context.scratch_goes_with_job,
        foretold=saving.foretold,
    )


def _end_restore(error: RestoreIncomplete, name: str, store: str) -> str:
    """For a workspace that is half of two states, of which no backup is taken."""
    finish = restore_command(name, store)
    leave_it = f"`{finish} --abandon` takes a snapshot of what is there, and leaves it as it is"
    if isinstance(error, RestoreUnfinishable):
        return f"the store does not have {error.fields['snapshot']} any more: {leave_it}"
    return f"`{finish}` finishes it; {leave_it}"


def _delete_or_move(context: NodeContext, name: str) -> str:
    """For a workspace whose snapshots are gone: it cannot be saved as what it was."""
    aside = _mv(context, name, f"{name}.old")
    return (
        f"the snapshots of `{name}` are gone, so it belongs to no store: {_rm(context, name)} deletes it,"
        f" {aside} keeps it on `{context.node}` as a directory that nothing saves"
    )


def _rm(context: NodeContext, name: str) -> str:
    return f"`{on_scratch(context.workspace.scratch, 'rm', '-r', name)}`"


def _mv(context: NodeContext, name: str, new: str) -> str:
    return f"`{on_scratch(context.workspace.scratch, 'mv', name, new)}`"


def _without_renamed(context: NodeContext, unsaved: _Unsaved, other_files: list[str]) -> list[str]:
    """Adds to what is not saved each directory that was the workspace under another name; returns the others."""
    own = context.workspace.name
    last = renamed_to(context.workspace, context.store)
    for found in all_renamed(context.workspace, context.store):
        now = str(found.relative_to(context.workspace.scratch))
        way = ways_out(context.workspace.scratch, found)
        if found == last:
            way = f"{_mv(context, now, own)} gives `{now}` its name back"
        unsaved.add_path(f"{now} (it was `{own}`)", "renamed", way)
        other_files = [name for name in other_files if name != printable(now)]
    return other_files


def _without_possible(context: NodeContext, unsaved: _Unsaved, other_files: list[str]) -> list[str]:
    """The same of all that may be the workspace, which is gone and whose number is not known."""
    own = context.workspace.name
    if not _was_here(context):
        return other_files
    for name in other_files:
        way = f"{_mv(context, name, own)} gives `{name}` its name back, if it is that"
        shown = f"{name} (`{own}`, which it may be, is gone)"
        out = ways_out(context.workspace.scratch, context.workspace.scratch / name)
        unsaved.add_path(shown, "renamed", f"{way}; else {out}")
    return []


def _was_here(context: NodeContext) -> bool:
    """Whether this job had the workspace on this node, going by the notes of both."""
    place = find_place(context.store, context.workspace.name)
    return noted_base(context.workspace) is not None and was_of_this_job(context, place)


def _excluded(context: NodeContext) -> list[str]:
    """What the profile and the workspace keep out of snapshots, in their own words."""
    exclude, workspace = context.profile.backup.exclude, context.workspace
    roots = [workspace.scratch / root for root in workspace.roots]
    found = [printable(one) for root in roots for one in patterns_in_force(exclude, root)]
    return list(dict.fromkeys(found))[:_SHOWN]


def _other_files(context: NodeContext, others: Collection[str]) -> list[str]:
    """What of the user's lies beside the workspace on its scratch, and belongs to no snapshot: named, never refused for."""
    workspace = context.workspace
    saved = [*workspace.roots, *(root for name in others for root in _roots_of(context, name))]
    ours = {name.split("/")[0] for name in saved} | {"jobs", "debug"}
    found = _unknown_job_copies(context)
    with suppress(OSError), os.scandir(workspace.scratch) as entries:
        for entry in entries:
            is_known = entry.name in ours or entry.name.startswith(".") or ".before-" in entry.name
            is_own = entry.stat(follow_symlinks=False).st_uid == os.geteuid()
            if not is_known and is_own and may_hold_something(Path(entry.path)):
                found.append(printable(entry.name))
    return sorted(found)[:_SHOWN]


def _unknown_job_copies(context: NodeContext) -> list[str]:
    """What jobs have left which no later job saves, as paths beneath scratch."""
    copies = job_copies(context.workspace)
    place = find_place(context.store, context.workspace.name)
    return [
        printable(f"{copies.name}/{name}")
        for name in unknown_copies(place, copies)
        if may_hold_something(copies / name)
    ]


def _debug_copies(workspace: Workspace) -> list[str]:
    """What `jobs debug` has made here: people change it, and no backup saves it."""
    with suppress(OSError):
        found = sorted(debug_copies(workspace).iterdir())
        return [printable(str(path)) for path in found if path.is_dir()][:_SHOWN]
    return []


def _roots_of(context: NodeContext, name: str) -> list[str]:
    """What is saved with another workspace, and itself."""
    try:
        return as_known(context, name).workspace.roots
    except (ScratchflowError, WorkspaceUnknown):  # told as what could not be saved
        return [name]


def _save_own(context: NodeContext, notify: Notifier, saving: _Saving) -> _Held | None:
    if saving.request.left and not saving.request.dry_run:
        leave(context, find_place(context.store, context.workspace.name))
    # Looked at before the backup, which makes the copy this job's own.
    is_old = is_old_copy(context)
    try:
        final = SnapshotOptions(
            message=saving.request.message,
            purpose="final",
            beside=is_old or saving.request.beside,
        )
        held = _held(context, notify, saving, final)
    except WorkspaceMissing:
        return None
    place = find_place(context.store, context.workspace.name)
    catalogue, snapshot = read_catalogue(place), held.taken.snapshot
    newer = None
    if (
        is_old
    ):  # one that turned out to be the newest snapshot is the present work, wherever it came from
        newer = catalogue.newest_id if catalogue.newest_id != snapshot else None
    elif snapshot:
        newer = newer_elsewhere(place, catalogue, snapshot)
    return msgspec.structs.replace(held, newer=newer)


def _held(context: NodeContext, notify: Notifier, saving: _Saving, final: SnapshotOptions) -> _Held:
    """The last snapshot; of a dry run, what it would be."""
    if not saving.request.dry_run:
        return _save_whole(context, notify, final)
    seen = foretell_backup(context, notify, final)
    saving.foretold[context.workspace.name] = seen
    return _Held(seen, None)


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


def _add_alone(context: NodeContext, unsaved: _Unsaved) -> None:
    """What is saved with the workspace, and is here without it."""
    own = context.workspace.name
    is_renamed = renamed_to(context.workspace, context.store) is not None
    for root in _alone(context):
        way = f"`scratchflow restore` brings `{own}` back, with which `{root}` is saved"
        if is_renamed:
            way = f"with `{own}`, once that has its name back, `{root}` is saved"
        unsaved.add_path(f"{root} (`{own}` beside it is gone)", "alone", way)


def _alone(context: NodeContext) -> list[str]:
    """Directories that are saved with the workspace, but are here without it."""
    roots = set(context.workspace.also)
    base = noted_base(context.workspace)
    known = new_manifest(context.workspace.name, base) if base else None
    roots |= set(known.also) if known else set()
    return [root for root in sorted(roots) if may_hold_something(context.workspace.scratch / root)]


def _moved_aside(workspace: Workspace) -> Iterator[str]:
    """`<root>.before-<id>`: what a restore found in its place. No snapshot need hold it.

    `scratchflow --set workspace=<that> backup` makes it a workspace of its own, which is saved as such.
    """
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


def _save_other(
    context: NodeContext, notify: Notifier, saving: _Saving, name: str
) -> _Other | None:
    """Into the store that it came from, as its last snapshot was taken; None when it could not be saved."""
    try:
        return _save_known(context, notify, saving, as_known(context, name))
    except WorkspaceUnknown as error:
        saving.unsaved.add_path(f"{name} ({error})", "unknown", _delete_or_move(context, name))
    except ScratchflowError as error:
        saving.unsaved.add_path(f"{name} ({error})", error.code, error.shown_hint)
    return None


def _save_known(
    context: NodeContext, notify: Notifier, saving: _Saving, there: NodeContext
) -> _Other | None:
    path, store, profile = there.workspace.path, there.store, there.settings.name
    name, other_store = there.workspace.name, str(store) if store != context.store else ""
    try:
        if saving.request.left and not saving.request.dry_run:
            leave(there, find_place(store, name))
        is_old = is_old_copy(there)
        is_worked_in = is_of_this_job(there, find_place(store, name))
        final = SnapshotOptions(
            message=saving.request.message,
            purpose="final",
            prune=False,
            beside=is_old or saving.request.beside,
        )
        saved = _held(there, notify, saving, final).taken
    except RestoreIncomplete as error:
        half = f"{name} (its restore of {error.fields['snapshot']} has not finished)"
        saving.unsaved.add_path(half, f"half {name}", _end_restore(error, name, other_store))
        return None
    saving.unsaved.add(saved)
    if (
        name == context.workspace.name and saved.snapshot
    ):  # nobody expects it there; whoever asks names the others
        notify.remark(
            f"`{path}`, the workspace of profile `{profile}`, is in snapshot {saved.snapshot} of `{store}`"
        )
    if saved.snapshot is None:
        return None
    stored = saved.kind != "unchanged"
    return _Other(
        snapshot=saved.snapshot,
        store=other_store,
        is_own=profile == context.settings.name and not is_old and (is_worked_in or stored),
        is_old=is_old,
        stored=stored,
    )
