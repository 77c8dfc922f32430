"""A scratch that was changed in the profile while work is at the former place.

Nothing takes the new place for it: the auto-backup would save that one from then on, and everything since the last
snapshot would be left behind, on a node that may be given back or on a disk that nobody looks at any more.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from scratchflow.disk.trees import may_hold_something
from scratchflow.model.errors.workspace import (
    UnsavedAtFormerScratch,
    WorkspaceAtFormerScratch,
    WorkspaceMissing,
)
from scratchflow.model.text import printable
from scratchflow.node.base_note import is_of_job, record_of
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.nodes import NodeRecord
from scratchflow.workspace.notes import is_noted_by, read_restoring


def require_at_scratch(context: NodeContext) -> None:
    """WorkspaceAtFormerScratch when this job has its workspace elsewhere on this node.

    Without a cluster, UnsavedAtFormerScratch when the profile has it elsewhere, with changes that no snapshot has.
    """
    place = find_place(context.store, context.workspace.name)
    record = record_of(context, place)
    path = printable(context.workspace.path)
    if record is None or record.workspace_path == path:
        return
    former = Path(record.workspace_path)
    if not may_hold_something(former) or _is_same(former, context.workspace.path):
        return
    where = record.workspace_path, context.workspace.name, path
    if context.job_id is not None:
        if is_of_job(record, context):
            raise WorkspaceAtFormerScratch.of(*where)
    elif context.profile.scheduler == "none" and _has_unsaved(context, place, record):
        raise UnsavedAtFormerScratch.of(*where)


def require_workspace_here(context: NodeContext) -> None:
    """WorkspaceMissing when the workspace is not there; where `scratch` was changed, the error that says where it is."""
    if not context.workspace.path.is_dir():
        require_at_scratch(context)
        raise WorkspaceMissing(path=context.workspace.path)


def _is_same(former: Path, now: Path) -> bool:
    """Whether both paths lead to one directory."""
    try:
        return os.path.samefile(former, now)
    except OSError:
        return False


def _has_unsaved(context: NodeContext, place: StoreDirectory, record: NodeRecord) -> bool:
    """Whether the profile's own workspace at the former place differs from the snapshot that it came from.

    Another profile with the same store may have its workspace there: that is none of this one's business.
    """
    scratch = record.scratch_of(context.workspace.name)
    former = msgspec.structs.replace(context.workspace, scratch=scratch)
    if not is_noted_by(former, context.settings.name):
        return False
    if read_restoring(former) is not None:
        return True
    from scratchflow.node.snapshot.options import SnapshotOptions  # what scans: for this case alone
    from scratchflow.node.snapshot.plan import plan_snapshot

    there = msgspec.structs.replace(context, workspace=former)
    unheard = Notifier(lambda _: None)
    parent, planned = plan_snapshot(there, place, read_catalogue(place), unheard, SnapshotOptions())
    return parent is None or not planned.unchanged or bool(unheard.unreadable)
