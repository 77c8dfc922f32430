"""The workspace's directory under another name: whoever renamed it has work there that nothing saves."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from scratchflow.archive.read.archive_file import open_index
from scratchflow.disk.durable import may_be_there
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.node.context import NodeContext
from scratchflow.store.directory import find_place
from scratchflow.workspace.notes import Base, noted_base


def renamed_to(context: NodeContext) -> Path | None:
    """Where the directory lies that was the workspace; None when it is in its place, gone, or not known."""
    workspace = context.workspace
    base = noted_base(workspace)
    if base is None or not base.inode or may_be_there(workspace.path):
        return None
    with suppress(OSError), os.scandir(workspace.path.parent) as entries:
        for entry in entries:
            is_it = entry.inode() == base.inode and entry.is_dir(follow_symlinks=False)
            # What is beside it for a restore, that one finishes.
            is_ours = entry.name.startswith(".") or ".before-" in entry.name
            if is_it and not is_ours and _holds_some_of(context, base, Path(entry.path)):
                return Path(entry.path)
    return None


def _holds_some_of(context: NodeContext, base: Base, directory: Path) -> bool:
    """Whether it has a name that the last snapshot has there: the number of a directory that went is given to another."""
    place = find_place(context.store, context.workspace.name)
    try:
        index = open_index(place.archive(base.snapshot))
    except SnapshotDamaged:  # or gone: then the number alone has to do
        return True
    entry = index.find(os.fsencode(context.workspace.name))
    if entry is None:
        return True
    group = index.group_at(entry)
    first, end = index.first[group], index.first[group + 1]
    known = {index.names[one] for one in range(first, end)}
    return not known or not known.isdisjoint(os.fsencode(name) for name in os.listdir(directory))
