"""A scratch that was changed in the profile while a node is held: the work of the job is still at the former place.

Nothing takes the new place for it: the auto-backup would save that one from then on, and the node could be given back
with everything since the last snapshot.
"""

from __future__ import annotations

import os
from pathlib import Path

from scratchflow.disk.trees import may_hold_something
from scratchflow.model.errors.workspace import WorkspaceAtFormerScratch
from scratchflow.model.text import printable
from scratchflow.node.base_note import is_of_job, record_of
from scratchflow.node.context import NodeContext
from scratchflow.store.directory import find_place


def require_at_scratch(context: NodeContext) -> None:
    """WorkspaceAtFormerScratch when this job has its workspace elsewhere on this node. Outside a job nothing goes with one."""
    if context.job_id is None:
        return
    record = record_of(context, find_place(context.store, context.workspace.name))
    path = printable(context.workspace.path)
    if record is None or record.workspace_path == path or not is_of_job(record, context):
        return
    former = Path(record.workspace_path)
    if may_hold_something(former) and not _is_same(former, context.workspace.path):
        raise WorkspaceAtFormerScratch.of(record.workspace_path, context.workspace.name, path)


def _is_same(former: Path, now: Path) -> bool:
    """Whether both paths lead to one directory."""
    try:
        return os.path.samefile(former, now)
    except OSError:
        return False
