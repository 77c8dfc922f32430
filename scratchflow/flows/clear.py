"""`clear`: everything is let go again: a last backup, the job, the session, the alias."""

from __future__ import annotations

from dataclasses import dataclass

from scratchflow.cluster import none
from scratchflow.flows.anywhere import Caller, Cluster, cluster_of
from scratchflow.flows.login_host import LoginHost
from scratchflow.flows.pointing import park
from scratchflow.flows.wishes import Backup, DryRun, Nothing, Release
from scratchflow.model.errors import FinalBackupFailed, ScratchflowError, WorkspaceMissing
from scratchflow.model.events import Emit, Log, Progress
from scratchflow.model.results import (
    AutobackupSwitched,
    BackupTaken,
    Cleared,
    NodeReleased,
    StatusShown,
)


@dataclass(frozen=True)
class ClearWish:
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
    settings = cluster.settings
    held = _is_held(cluster)
    snapshot = None
    if held and wish.backup and not wish.dry_run:
        snapshot = final_backup(cluster)
    if held and not wish.dry_run:
        _switch_off(cluster, required=wish.backup)
    if settings.profile.scheduler == "none":
        return _end_session(cluster, wish, snapshot)
    released = cluster.on_login("release", Release(dry_run=wish.dry_run), NodeReleased)
    parked = not wish.dry_run and park(settings)
    commands = [*(["scratchflow backup"] if wish.backup and held else []), *released.commands]
    return Cleared(
        job_id=released.job_ids[-1] if released.job_ids else None,
        snapshot=snapshot,
        released=bool(released.job_ids) and not wish.dry_run,
        session_ended=released.session_ended,
        parked=parked,
        commands=commands if wish.dry_run else [],
        dry_run=wish.dry_run,
    )


def _switch_off(cluster: Cluster, *, required: bool) -> None:
    """Ends the auto-backup after the last backup: had that failed, the node would stay ours unguarded."""
    try:
        cluster.on_login("autobackup off", DryRun(), AutobackupSwitched)
    except ScratchflowError as error:
        if required:
            raise
        # The job's end ends it too; nothing is to be saved, so nothing is lost.
        cluster.emit(Log(level="info", message=f"the auto-backup ends with the job ({error})"))


def _is_held(cluster: Cluster) -> bool:
    """Whether there is a node whose workspace could be saved."""
    held = cluster.on_login("look", Nothing(), StatusShown).allocation
    return held is not None and held.state == "running"


def final_backup(cluster: Cluster) -> str | None:
    """The last snapshot; None when there is no workspace on the node, so nothing to lose."""
    cluster.emit(Progress(phase="the last backup"))
    try:
        wish = Backup(message="before clear")
        return cluster.at_workspace("backup", wish, BackupTaken).snapshot
    except WorkspaceMissing:
        message = "there is no workspace on the node: nothing to back up"
        cluster.emit(Log(level="info", message=message))
        return None
    except ScratchflowError as error:
        raise FinalBackupFailed.because_of(error) from error


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
