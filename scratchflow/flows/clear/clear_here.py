"""`clear` without a cluster: a last backup, then what runs in the background ends. Nothing is given back."""

from __future__ import annotations

from scratchflow.dispatch.cluster import Cluster
from scratchflow.flows.clear.last_backup import foretold_of_own
from scratchflow.flows.serve.serve import end_all
from scratchflow.login.detached_runs import end_runs_here
from scratchflow.login.host import LoginHost
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.workspace import WorkspaceAtFormerScratch, WorkspaceMissing
from scratchflow.model.events import Log, Progress
from scratchflow.model.requests import Backup, DryRun
from scratchflow.model.results.allocation import Cleared
from scratchflow.model.results.backup import AutobackupSwitched, BackupTaken

_NO_WORKSPACE = "there is no workspace on this machine: nothing to back up"
_LAST = Backup(message="before clear", purpose="final")
_FORETOLD = Backup(message="before clear", purpose="final", dry_run=True)


def clear_here(cluster: Cluster, *, backup: bool, dry_run: bool) -> Cleared:
    """On one machine: what runs there is not in a job whose end would end it."""
    taken = _final_backup(cluster) if backup and not dry_run else None
    would_save = backup and dry_run and _foretold(cluster)
    if not dry_run:
        # After the last backup, not before: had that failed, nobody would save it any more.
        cluster.on_login("autobackup off", DryRun(), AutobackupSwitched)
        end_all(cluster)
    settings = cluster.settings
    login = LoginHost(settings, cluster.caller.environment, cluster.emit)
    session = login.tmux.session(settings.name) if login.has_tmux else None
    ended = session is not None and not dry_run and end_runs_here(login)
    saving = ["scratchflow backup"] if would_save else []
    ending = [f"tmux -L scratchflow kill-session -t ={session}"] if session else []
    return Cleared(
        job_id=None,
        snapshot=taken.snapshot if taken else None,
        released=ended,
        session_ended=ended,
        commands=[*saving, *ending] if dry_run else [],
        dry_run=dry_run,
        unsaved=taken.unsaved if taken else 0,
        unsaved_paths=taken.unsaved_paths if taken else [],
    )


def _foretold(cluster: Cluster) -> bool:
    """Says what the last backup would store; refused as that would be. False where there is no workspace."""
    try:
        seen = cluster.at_workspace("backup", _FORETOLD, BackupTaken)
    except WorkspaceMissing:
        cluster.emit(Log(level="info", message=_NO_WORKSPACE))
        return False
    cluster.emit(Log(level="info", message=foretold_of_own(seen)))
    return True


def _final_backup(cluster: Cluster) -> BackupTaken | None:
    """What could not be read stays where it is."""
    cluster.emit(Progress(phase="the last backup"))
    try:
        return cluster.at_workspace("backup", _LAST, BackupTaken)
    except WorkspaceMissing:
        cluster.emit(Log(level="info", message=_NO_WORKSPACE))
        return None
    except WorkspaceAtFormerScratch:
        raise  # it says what saves the work
    except ScratchflowError as error:
        error.add_step(
            "nothing was ended; `scratchflow clear --no-backup` ends auto-backup and session without a backup"
        )
        raise
