"""Which of several nodes has what the user works on: told without changing anything there."""

from __future__ import annotations

from scratchflow.dispatch.cluster import Cluster
from scratchflow.model.errors.restore import RestoreIncomplete, TargetNotEmpty, WorkspaceOfOther
from scratchflow.model.events import Warned
from scratchflow.model.requests import Settle
from scratchflow.model.results.restore import Settled


def behind_warning(base: str, newest: str, *, is_old: bool = False) -> Warned:
    """That what is worked in does not continue the newest snapshot, and how to have that one.

    `is_old`: it is known that an earlier job left the copy. Then `up` replaces it, which also does what else is
    missing; otherwise only `restore` does.
    """
    verb = "up" if is_old else "restore"
    message = (
        f"this copy of the workspace is from snapshot {base}, and the newest is {newest}:"
        f" `scratchflow {verb}` brings that one, and saves first what is here"
    )
    return Warned(code="workspace.behind", message=message)


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
