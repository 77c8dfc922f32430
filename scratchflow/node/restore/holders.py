"""Which snapshots hold a path: one that another has not, or one that was typed where a snapshot is named."""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.selection import Selection, is_pattern
from scratchflow.archive.tree.index import Index
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotMissing
from scratchflow.node.context import NodeContext
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place

RESTORES_PATH = "`scratchflow restore {snapshot} --path {path}` brings it back"
LISTS_PATHS = f"`scratchflow snapshots diff` alone lists every path that differs; {RESTORES_PATH}"
SHOWS_PATH = "`scratchflow snapshots show {snapshot} {path}` shows it"
"""What is typed for a path, by command."""

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


@contextmanager
def path_in_place_of_snapshot(context: NodeContext, wanted: str, next_step: str) -> Iterator[None]:
    """When what was named is no snapshot but a path in one, the error says how that is typed.

    `{path}` in the next step is the path, `{snapshot}` the newest snapshot that holds it, as they are typed.
    """
    try:
        yield
    except SnapshotMissing:
        holders = snapshots_with(context, wanted) if wanted.strip() else []
        if not holders:
            raise
        newest = read_catalogue(find_place(context.store, context.workspace.name)).newest_id
        snapshot = "latest" if holders[0] == newest else holders[0]
        how = next_step.format(path=shlex.quote(wanted), snapshot=snapshot)
        raise SnapshotMissing(wanted=wanted, next_step=f"that is a path: {how}") from None


def _holds(index: Index, path: str, workspace: str) -> bool:
    """As a restore would find it: from scratch down, or from the workspace down."""
    if is_pattern(path):
        return not Selection(index, [path], within=workspace).unmatched
    names = (path.strip("/"), posixpath.normpath(f"{workspace}/{path.strip('/')}"))
    return any(index.find(os.fsencode(name)) is not None for name in names)
