"""Which of several nodes has what the user works on: told without changing anything there."""

from __future__ import annotations

from scratchflow.dispatch.cluster import Cluster
from scratchflow.model.errors.restore import RestoreIncomplete, TargetNotEmpty, WorkspaceOfOther
from scratchflow.model.requests import Settle
from scratchflow.model.results.restore import Settled


def newer_than(cluster: Cluster, job_id: int | None) -> str | None:
    """The snapshot that `up` would bring to the node of this job; None when it has the present work.

    It has not when it has no workspace, or a copy that an earlier job left there.
    """
    try:
        settled = cluster.at_workspace("settle", Settle(dry_run=True), Settled, job_id=job_id)
    except (TargetNotEmpty, WorkspaceOfOther):  # the user's own, never saved: nothing is newer
        return None
    return settled.snapshot if settled.action == "restored" else None


def has_present_work(cluster: Cluster, job_id: int | None) -> bool:
    """Whether what is on the node of this job is what the user works on."""
    try:
        return newer_than(cluster, job_id) is None
    except RestoreIncomplete:
        return False
