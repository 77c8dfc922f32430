"""`clear`: everything is let go again: a last backup, the job, the session, the alias."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from scratchflow.cluster import none
from scratchflow.flows.anywhere import Caller, Cluster, cluster_of
from scratchflow.flows.login_host import LoginHost
from scratchflow.flows.pointing import has_alias, park
from scratchflow.flows.presence import has_present_work
from scratchflow.flows.wishes import Backup, DryRun, Nothing, Release
from scratchflow.model.errors import (
    AllocationEnded,
    AllocationMissing,
    AllocationSuspended,
    FinalBackupFailed,
    NodeFailed,
    ScratchflowError,
    WorkspaceMissing,
)
from scratchflow.model.events import Emit, Log, Progress
from scratchflow.model.results import (
    AllocationShown,
    AutobackupSwitched,
    BackupTaken,
    Cleared,
    JobsShown,
    NodeReleased,
)

# Of the others nothing ran yet. What is stopped, or in a state nobody knows, cannot be saved: it is kept.
_HAS_WORK = {"running", "suspended", "unknown"}


class ClearWish(msgspec.Struct, frozen=True):
    """How to let go."""

    backup: bool = True
    dry_run: bool = False


def clear(caller: Caller, emit: Emit, wish: ClearWish) -> Cleared:
    """Releases only after the last backup is committed, unless it is not wanted.

    Killed anywhere, running it again does the rest: each step looks at what is true first.
    """
    with cluster_of(caller.settings(), caller, emit) as cluster:
        return clear_on(cluster, wish)


def clear_on(cluster: Cluster, wish: ClearWish) -> Cleared:
    """The same on a cluster that is reached already."""
    if cluster.settings.profile.scheduler == "none":
        return _clear_here(cluster, wish)
    jobs = cluster.on_login("jobs open", Nothing(), JobsShown).jobs
    saved = [job for job in jobs if job.state in _HAS_WORK] if wish.backup else []
    snapshots = [] if wish.dry_run else _back_up_all(cluster, saved)
    # Those that were looked at, and no other: a job that came meanwhile was not saved.
    numbers = tuple(job.job_id for job in jobs if job.job_id is not None)
    wanted = Release(job_ids=numbers, dry_run=wish.dry_run)
    released = cluster.on_login("release", wanted, NodeReleased)
    parked = not wish.dry_run and park(cluster.settings)
    return Cleared(
        job_id=released.job_ids[-1] if released.job_ids else None,
        job_ids=released.job_ids,
        snapshot=next(filter(None, reversed(snapshots)), None),
        released=bool(released.job_ids) and not wish.dry_run,
        session_ended=released.session_ended,
        parked=parked,
        commands=_commands(cluster, saved, released) if wish.dry_run else [],
        dry_run=wish.dry_run,
    )


def _commands(
    cluster: Cluster, saved: Sequence[AllocationShown], released: NodeReleased
) -> list[str]:
    backups = [f"scratchflow backup (job {job.job_id} on {job.node})" for job in saved]
    parks = [f"park `{cluster.settings.profile.alias}`"] if has_alias(cluster.settings) else []
    return [*backups, *released.commands, *parks]


def _back_up_all(cluster: Cluster, jobs: Sequence[AllocationShown]) -> list[str | None]:
    """The last snapshot is the one that comes back next time: a copy from an earlier job goes first."""
    stopped = next((job for job in jobs if job.state != "running"), None)
    if stopped is not None:
        suspended = AllocationSuspended(job_id=stopped.job_id, node=stopped.node)
        raise FinalBackupFailed.because_of(suspended)
    if len(jobs) > 1:
        jobs = sorted(jobs, key=lambda job: has_present_work(cluster, job.job_id))
    return [final_backup(cluster, job.job_id) for job in jobs]


def final_backup(cluster: Cluster, job_id: int | None) -> str | None:
    """The last snapshot of a node; None when it has no workspace, so nothing to lose."""
    cluster.emit(Progress(phase="the last backup"))
    try:
        wish = Backup(message="before clear", purpose="final")
        return cluster.at_workspace("backup", wish, BackupTaken, job_id=job_id).snapshot
    except WorkspaceMissing:
        message = "there is no workspace on the node: nothing to back up"
        cluster.emit(Log(level="info", message=message))
        return None
    except (AllocationEnded, AllocationMissing, NodeFailed):
        raise  # there is no node to keep
    except ScratchflowError as error:
        raise FinalBackupFailed.because_of(error) from error


def _clear_here(cluster: Cluster, wish: ClearWish) -> Cleared:
    """On one machine: what runs there is not in a job whose end would end it."""
    snapshot = None
    if wish.backup and not wish.dry_run:
        snapshot = final_backup(cluster, None)
    if not wish.dry_run:
        # After the last backup, not before: had that failed, nobody would save it any more.
        cluster.on_login("autobackup off", DryRun(), AutobackupSwitched)
    return _end_session(cluster, wish, snapshot)


def _end_session(cluster: Cluster, wish: ClearWish, snapshot: str | None) -> Cleared:
    settings = cluster.settings
    saving = ["scratchflow backup"] if wish.backup else []
    login = LoginHost(settings, cluster.caller.environment, cluster.emit)
    session = login.tmux.session(settings.name) if login.has_tmux else None
    ended = session is not None and not wish.dry_run and none.release(login.tmux, settings.name)
    return Cleared(
        job_id=None,
        snapshot=snapshot,
        released=ended,
        session_ended=ended,
        commands=[*saving, f"tmux -L scratchflow kill-session -t ={session}"]
        if wish.dry_run and session
        else [],
        dry_run=wish.dry_run,
    )
