"""What `hop` saves: all of the old node, and first of all what was done on the next one since an earlier run."""

from __future__ import annotations

from contextlib import suppress

from scratchflow.flows.clear.last_backup import SavedCopy, forks_of, require_saved, save_copies
from scratchflow.flows.hop.move import Move
from scratchflow.model.errors.allocation import AllocationEnded, NodeFailed, NodeSilent
from scratchflow.model.errors.restore import RestoreIncomplete
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.requests import Backup
from scratchflow.model.results.backup import BackupTaken


def save_where_work_went_on(move: Move) -> None:
    """What was done on the next node since an earlier run led commands there: that is the newest work.

    What the old node still has beside it becomes a fork. A next node that gives no answer is met, and named, later.
    """
    if move.went_on_to is not None:
        request = Backup(message="before hop", purpose="final")
        with suppress(WorkspaceMissing, RestoreIncomplete, NodeFailed, NodeSilent, AllocationEnded):
            move.cluster.at_workspace("backup", request, BackupTaken, job_id=move.went_on_to)


def save_nodes(move: Move, *, left: bool, fork: bool = False) -> list[SavedCopy]:
    """Everything of ours on the old job's nodes, the first one last; refused while some of it is in no snapshot."""
    nodes = [move.old_node, *move.other_nodes]
    copies = save_copies(move.cluster, move.old_job, nodes, "before hop", left=left, fork=fork)
    for copy in copies:
        require_saved(copy.node, copy.saved, verb="hop", leave_behind=move.leave_behind)
    move.forks.update(forks_of(copies))
    return copies


def back_up(move: Move) -> BackupTaken | None:
    """What the old node has now; None when it has no workspace."""
    try:
        request = Backup(message="before hop", purpose="final")
        return move.cluster.at_workspace("backup", request, BackupTaken, job_id=move.old_job)
    except WorkspaceMissing:
        return None
