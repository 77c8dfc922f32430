"""A scratch that was changed in the profile while work is at the former place.

Nothing takes the new place for it: the auto-backup would save that one from then on, and everything since the last
snapshot would be left behind, on a node that may be given back or on a disk that nobody looks at any more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
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
from scratchflow.store.nodes import NodeRecord, scratch_of
from scratchflow.workspace.notes import is_noted_by, read_restoring
from scratchflow.workspace.workspace import Workspace


def require_at_scratch(context: NodeContext) -> None:
    """WorkspaceAtFormerScratch when this job has its workspace elsewhere on this node.

    Without a cluster, UnsavedAtFormerScratch when the profile has it elsewhere, with changes that no snapshot has.
    """
    place = find_place(context.store, context.workspace.name)
    record = record_of(context, place)
    if record is None:
        return
    now = printable(context.workspace.path)
    if context.job_id is None:
        if context.profile.scheduler != "none":
            return
        for former in former_places(context.workspace, context.settings.name, record):
            if _has_unsaved(context, place, former):
                raise UnsavedAtFormerScratch.of(printable(former.path), former.name, now)
    elif record.workspace_path != now and is_of_job(record, context):
        former_path = Path(record.workspace_path)
        if may_hold_something(former_path) and not _is_same(former_path, context.workspace.path):
            raise WorkspaceAtFormerScratch.of(record.workspace_path, context.workspace.name, now)


def former_places(workspace: Workspace, profile: str, record: NodeRecord) -> Iterator[Workspace]:
    """The workspace as this profile had it elsewhere on the node since it was at its present place; the latest first.

    Another profile with the same store may have one in between: that is none of this one's business.
    """
    now = printable(workspace.path)
    is_here = is_noted_by(workspace, profile)
    for path in [record.workspace_path, *record.earlier_paths]:
        if path == now and is_here:
            return
        former = msgspec.structs.replace(workspace, scratch=scratch_of(path, workspace.name))
        is_elsewhere = path != now and not _is_same(former.path, workspace.path)
        if is_elsewhere and is_noted_by(former, profile) and may_hold_something(former.path):
            yield former


def require_workspace_here(context: NodeContext) -> None:
    """WorkspaceMissing when the workspace is not there; where `scratch` was changed or it was renamed, the error that says where it is."""
    if not context.workspace.path.is_dir():
        require_at_scratch(context)
        from scratchflow.node.renamed import refuse_renamed  # hardly anybody renames it

        refuse_renamed(context)
        raise WorkspaceMissing(path=context.workspace.path)


def _is_same(former: Path, now: Path) -> bool:
    """Whether both paths lead to one directory."""
    try:
        return os.path.samefile(former, now)
    except OSError:
        return False


def _has_unsaved(context: NodeContext, place: StoreDirectory, former: Workspace) -> bool:
    """Whether the workspace at a former place differs from the snapshot that it came from."""
    if read_restoring(former) is not None:
        return True
    from scratchflow.node.snapshot.options import SnapshotOptions  # what scans: for this case alone
    from scratchflow.node.snapshot.plan import plan_snapshot

    there = msgspec.structs.replace(context, workspace=former)
    unheard = Notifier(lambda _: None)
    parent, planned = plan_snapshot(there, place, read_catalogue(place), unheard, SnapshotOptions())
    return parent is None or not planned.unchanged or bool(unheard.unreadable)
