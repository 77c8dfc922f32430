"""Which snapshots hold a path that another one has not."""

from __future__ import annotations

import os
import posixpath

from scratchflow.archive.read.reader import open_index
from scratchflow.archive.read.selection import Selection, is_pattern
from scratchflow.archive.tree.index import Index
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.node.context import NodeContext
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place

_NAMED = 3
# Each index has to be read: somebody waits for the answer.
_MOST_READ = 30


def snapshots_with(context: NodeContext, path: str) -> list[str]:
    """The newest few that hold the path, newest first, among those that are looked at."""
    place = find_place(context.store, context.workspace.name)
    path = path.removeprefix(f"{context.workspace.scratch}/")
    found: list[str] = []
    for one in reversed(read_catalogue(place).snapshots[-_MOST_READ:]):
        try:
            index = open_index(place.archive(one.id))
        except (ScratchflowError, OSError):  # a damaged one is told elsewhere
            continue
        if _holds(index, path, context.workspace.name):
            found.append(one.id)
        if len(found) == _NAMED:
            break
    return found


def _holds(index: Index, path: str, workspace: str) -> bool:
    """As a restore would find it: from scratch down, or from the workspace down."""
    if is_pattern(path):
        return not Selection(index, [path], within=workspace).unmatched
    names = (path.strip("/"), posixpath.normpath(f"{workspace}/{path.strip('/')}"))
    return any(index.find(os.fsencode(name)) is not None for name in names)
