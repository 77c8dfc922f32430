"""`create`: make the workspace and take its first snapshot."""

from __future__ import annotations

import os

from scratchflow.flows.backup import backup
from scratchflow.flows.here import Here
from scratchflow.flows.snapshotting import Wish
from scratchflow.flows.telling import Teller
from scratchflow.model.errors import WorkspaceFailed, WorkspaceKnown
from scratchflow.model.results import WorkspaceCreated
from scratchflow.model.text import printable
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.place import find_place


def create(here: Here, teller: Teller, *, dry_run: bool) -> WorkspaceCreated:
    """Makes the directory if it is missing, then snapshots what is in it.

    Refused when the store already has snapshots: then the workspace is to be restored, and an
    empty one must not take its place.
    """
    known = read_catalogue(find_place(here.store, here.workspace.name)).latest
    if known is not None:
        raise WorkspaceKnown(workspace=here.workspace.name, snapshot=known.id)
    if dry_run:
        return WorkspaceCreated(path=printable(here.workspace.path), snapshot=None, dry_run=True)
    try:
        os.makedirs(here.workspace.path, exist_ok=True)
    except OSError as error:
        raise WorkspaceFailed(path=here.workspace.path, reason=error.strerror) from None
    taken = backup(here, teller, Wish(message="created"))
    return WorkspaceCreated(path=printable(here.workspace.path), snapshot=taken.snapshot)
