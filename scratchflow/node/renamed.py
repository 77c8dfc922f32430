"""The workspace's directory under another name: whoever renamed it has work there that nothing saves."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import join, quote

from scratchflow.disk.durable import may_be_there
from scratchflow.disk.trees import may_hold_something
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.workspace import WorkspaceRenamed
from scratchflow.model.text import printable
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.workspace.former import Former, beside, number_of, read_former
from scratchflow.workspace.notes import known_workspaces, noted_base, read_restoring
from scratchflow.workspace.workspace import Workspace


def on_scratch(scratch: Path, *words: str) -> str:
    """The command that does this on the node's scratch, whether the workspace is there or not."""
    return f"scratchflow run --cwd {quote(str(scratch))} -- {join(words)}"


def renamed_to(workspace: Workspace, store: Path) -> Path | None:
    """Where the directory lies that was the workspace; None when it is in its place, gone, or not known."""
    if may_be_there(workspace.path):
        return None
    base = noted_base(workspace)
    last = Former(base.inode, base.snapshot) if base else None
    found = _renamed(workspace, store)
    return next((path for one, path in found.items() if one == last), None)


def renamed_error(context: NodeContext, now: Path) -> WorkspaceRenamed:
    """That the workspace is at this path now, and how it gets its name back."""
    base, path = noted_base(context.workspace), context.workspace.path
    return WorkspaceRenamed(
        path=path,
        now=now,
        node=context.node,
        snapshot=base.snapshot if base else None,
        way=on_scratch(path.parent, "mv", now.name, path.name),
    )


def refuse_renamed(context: NodeContext) -> None:
    """WorkspaceRenamed when the workspace is missing because it has another name now, and no restore is under way."""
    if read_restoring(context.workspace) is not None:
        return
    now = renamed_to(context.workspace, context.store)
    if now is not None:
        raise renamed_error(context, now)


def all_renamed(workspace: Workspace, store: Path) -> list[Path]:
    """Every directory beside the workspace that was it once, and was not made a workspace of its own since."""
    return sorted(_renamed(workspace, store).values())


def warn_of_renamed(context: NodeContext, notify: Notifier) -> None:
    """Before something is done to the workspace beside them: nobody would look for them later."""
    scratch = context.workspace.scratch
    last = renamed_to(context.workspace, context.store)
    for path in all_renamed(context.workspace, context.store):
        ways = ways_out(scratch, path)
        if path == last:
            ways = f"{_way_back(context.workspace, path)}, {ways}"
        message = f"`{printable(path)}` was the workspace until it was renamed, and nothing saves it; {ways}"
        notify.warn("workspace.renamed", b"", message)


def ways_out(scratch: Path, path: Path) -> str:
    """What can be done with a directory on scratch that is to be in no snapshot of the workspace."""
    name = str(path.relative_to(scratch))
    saving = f"scratchflow --set {quote(f'workspace={name}')} backup"
    deleting = on_scratch(scratch, "rm", "-r", name)
    return printable(f"`{saving}` saves `{name}`, `{deleting}` deletes it")


def _way_back(workspace: Workspace, path: Path) -> str:
    """Into the place of a workspace that was brought meanwhile it would be moved by a plain `mv`: `-T` refuses."""
    now = str(path.relative_to(workspace.scratch))
    back = on_scratch(workspace.scratch, "mv", "-T", now, workspace.name)
    name = printable(workspace.name)
    return f"`{printable(back)}` gives it its name back while there is no `{name}`"


def _renamed(workspace: Workspace, store: Path) -> dict[Former, Path]:
    place = find_place(store, workspace.name)
    base = noted_base(workspace)
    wanted = read_former(workspace)
    if base is not None and base.inode not in {0, number_of(workspace.path)}:
        wanted.append(Former(base.inode, base.snapshot))
    if not wanted:
        return {}
    own = {workspace.scratch / name for name in known_workspaces(workspace.scratch)}
    return {
        one: path
        for one, path in beside(workspace, wanted).items()
        if path not in own
        and may_hold_something(path)
        and _holds_some_of(place, workspace.name, one, path)
    }


def _holds_some_of(place: StoreDirectory, name: str, former: Former, directory: Path) -> bool:
    """Whether it has a name that its snapshot has there: the number of a directory that went is given to another."""
    from scratchflow.archive.read.archive_file import open_index  # hardly anybody renames it

    try:
        index = open_index(place.archive(former.snapshot))
    except SnapshotDamaged:  # or gone: then the number alone has to do
        return True
    entry = index.find(os.fsencode(name))
    if entry is None:
        return True
    group = index.group_at(entry)
    first, end = index.first[group], index.first[group + 1]
    known = {index.names[one] for one in range(first, end)}
    try:
        there = {os.fsencode(name) for name in os.listdir(directory)}
    except OSError:  # it may not be read: it may be the one
        return True
    return not known or not known.isdisjoint(there)
