"""`clear`: everything is let go again: a last backup, the job, the session, the alias."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.flows.alias import has_alias, park
from scratchflow.flows.clear.clear_here import clear_here
from scratchflow.flows.clear.last_backup import (
    NO_WORKSPACE,
    SavedCopy,
    backup_commands,
    foretell_last_backup,
    forks_of,
    looked_at_again,
    nodes_of,
    require_all_saved,
    save_copies,
    tell_excluded,
)
from scratchflow.flows.clear.saved_for_others import tell_who_is_not_saved
from scratchflow.flows.clear.what_ends import Agrees, agree_to_what_ends
from scratchflow.flows.clear.whose_workspace import owners_of
from scratchflow.flows.current_work import has_present_work
from scratchflow.flows.not_known_here import with_cancel
from scratchflow.flows.serve.serve import end_all
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationMissing,
    AllocationSuspended,
    FinalBackupFailed,
    NodeFailed,
    SeveralHeld,
)
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.restore import RestoreIncomplete
from scratchflow.model.errors.workspace import WorkspaceAtFormerScratch
from scratchflow.model.events import Emit, Log, Progress, Warned
from scratchflow.model.requests import OpenJobs, Release
from scratchflow.model.results.allocation import Cleared, NodeReleased
from scratchflow.model.results.status import AllocationShown, JobsShown
from scratchflow.process.interrupted import Interrupted
from scratchflow.workspace.job_scratch import goes_with_job

# Of the others nothing ran yet. What is stopped, or in a state nobody knows, cannot be saved: it is kept.
_MESSAGE = "before clear"
_HAS_WORK = {"running", "suspended", "unknown"}


class ClearOptions(msgspec.Struct, frozen=True):
    """How to let go."""

    backup: bool = True
    dry_run: bool = False
    # Gives the node back though files on it are in no snapshot.
    leave_behind: bool = False
    # Withdraws what waits in the queue, and keeps the node.
    pending: bool = False


def clear(
    caller: Caller, emit: Emit, options: ClearOptions, agrees: Agrees | None = None
) -> Cleared:
    """Releases only what is in snapshots as a whole, unless no backup is wanted.

    Killed anywhere, running it again does the rest: each step looks at what is true first.
    """
    with cluster_of(caller.settings(), caller, emit) as cluster:
        return clear_on(cluster, options, agrees)


def clear_on(cluster: Cluster, options: ClearOptions, agrees: Agrees | None = None) -> Cleared:
    """The same on a cluster that is reached already."""
    if options.pending:
        return _withdraw(cluster, options)
    if cluster.settings.profile.scheduler == "none":
        return clear_here(cluster, backup=options.backup, dry_run=options.dry_run)
    shown = cluster.on_login("jobs open", OpenJobs(detached=True, others_too=True), JobsShown)
    jobs = shown.jobs
    # First: until the last backup is taken, Ctrl-C keeps the node and all that runs there.
    asks = None if options.dry_run else agrees
    agree_to_what_ends(cluster.emit, shown.detached, {job.job_id for job in jobs}, asks)
    tell_who_is_not_saved(cluster, jobs, shown.elsewhere)
    saved = [job for job in jobs if job.state in _HAS_WORK] if options.backup else []
    foretold: list[tuple[AllocationShown, list[SavedCopy]]] = []
    if options.dry_run:
        _require_running(saved)
        is_only = len(saved) == 1
        foretold = [(job, _foretold(cluster, job, is_only=is_only)) for job in saved]
        seen = [copy for _, copies in foretold for copy in copies]
        require_all_saved(cluster, seen, verb="clear", leave_behind=options.leave_behind)
    if not options.backup:
        _require_one(shown)
        _warn_without_backup(cluster, jobs, dry_run=options.dry_run)
    taken = [] if options.dry_run else _back_up_all(cluster, saved, shown.meant)
    require_all_saved(cluster, taken, verb="clear", leave_behind=options.leave_behind)
    tell_excluded(cluster.emit, taken, shown.elsewhere)
    owners = {
        name: owner
        for copy in taken
        for name, owner in owners_of(cluster, copy.node, copy.saved, shown.elsewhere).items()
    }
    # Those that were looked at, and no other: a job that came meanwhile was not saved.
    numbers = tuple(job.job_id for job in jobs if job.job_id is not None)
    waited = {job.job_id for job in jobs if job.state == "pending"}
    wanted = Release(job_ids=numbers, dry_run=options.dry_run)
    with _saying_that_it_was_asked_for(() if options.dry_run else numbers):
        released = cluster.on_login("release", wanted, NodeReleased)
        if not options.dry_run:
            end_all(cluster)
        parked = not options.dry_run and park(cluster.settings)
    last = next((one.saved for one in reversed(taken) if one.saved.snapshot), None)
    return Cleared(
        job_id=released.job_ids[-1] if released.job_ids else None,
        job_ids=released.job_ids,
        withdrawn=[number for number in released.job_ids if number in waited],
        snapshot=last.snapshot if last else None,
        read_back_age_s=last.read_back_age_s if last else None,
        newer=last.newer if last else None,
        others={name: one for copy in taken for name, one in copy.saved.others.items()},
        other_stores={
            name: store for copy in taken for name, store in copy.saved.other_stores.items()
        },
        old_others=[name for copy in taken for name in copy.saved.old_others],
        forked_others=[name for copy in taken for name in copy.saved.forked_others],
        other_profiles={name: owner.profile for name, owner in owners.items()},
        still_used=[name for name, owner in owners.items() if owner.is_there],
        forks=forks_of(taken),
        released=bool(released.job_ids) and not options.dry_run,
        session_ended=released.session_ended,
        parked=parked,
        commands=_commands(cluster, foretold, released) if options.dry_run else [],
        dry_run=options.dry_run,
        unsaved=sum(copy.saved.unsaved for copy in taken),
        unsaved_beside=sum(copy.saved.unsaved for copy in taken if copy.beside),
        unsaved_paths=[path for copy in taken for path in copy.saved.unsaved_paths],
        goes_with_job=any(copy.saved.goes_with_job for copy in taken),
        elsewhere=with_cancel(shown.elsewhere, cluster.settings, cluster.caller.environment),
        submitted=shown.submitted,
    )


@contextmanager
def _saying_that_it_was_asked_for(jobs: Sequence[int]) -> Iterator[None]:
    """Ctrl-C in here comes too late to keep the nodes."""
    try:
        yield
    except Interrupted as interrupted:
        if not jobs:
            raise
        its = "job" if len(jobs) == 1 else "jobs"
        asked = (
            f"Slurm was asked already to end {its} {', '.join(map(str, jobs))};"
            " `scratchflow clear` again does what is left."
        )
        raise EndedBySignal(interrupted.signum, asked) from interrupted


def _withdraw(cluster: Cluster, options: ClearOptions) -> Cleared:
    """Only the requests that wait for a node: nothing ran there, so there is nothing to save."""
    numbers: list[int] = []
    commands: list[str] = []
    if cluster.settings.profile.scheduler == "slurm":
        wanted = Release(pending=True, dry_run=options.dry_run)
        released = cluster.on_login("release", wanted, NodeReleased)
        numbers, commands = released.job_ids, released.commands
    return Cleared(
        job_id=numbers[-1] if numbers else None,
        job_ids=numbers,
        withdrawn=numbers,
        snapshot=None,
        released=bool(numbers) and not options.dry_run,
        commands=commands,
        dry_run=options.dry_run,
        pending=True,
    )


def _warn_without_backup(
    cluster: Cluster, jobs: Sequence[AllocationShown], *, dry_run: bool
) -> None:
    """Elsewhere the node keeps its copy, and the next `up` there finds it."""
    scratch = cluster.settings.profile.scratch
    if (
        not dry_run
        and goes_with_job(scratch, "", None)
        and any(job.state in _HAS_WORK for job in jobs)
    ):
        message = f"`{scratch}` goes with its job: what changed since the last snapshot is lost"
        cluster.emit(Warned(code="release.scratch_goes", message=message))


def _require_one(shown: JobsShown) -> None:
    """SeveralHeld with their names: who gives up a node without an answer does not mean the one with the work."""
    held = [job for job in shown.jobs if job.state in _HAS_WORK]
    if len(held) > 1:
        names = " and ".join(f"`{job.node}` (job {job.job_id})" for job in held)
        node = next((job.node for job in held if job.job_id == shown.meant), held[-1].node)
        raise SeveralHeld(held=names, node=node)


def _foretold(cluster: Cluster, job: AllocationShown, *, is_only: bool) -> list[SavedCopy]:
    with _saying_that_the_node_is_kept(job, is_only=is_only):
        return foretell_last_backup(cluster, job.job_id, nodes_of(job))


def _commands(
    cluster: Cluster,
    foretold: Sequence[tuple[AllocationShown, Sequence[SavedCopy]]],
    released: NodeReleased,
) -> list[str]:
    """What the real one does. A node without a workspace has nothing to back up."""
    backups = [
        command
        for job, copies in foretold
        for command in backup_commands(
            job.job_id, [copy.node for copy in copies if copy.saved.foretold]
        )
    ]
    parks = [f"park `{cluster.settings.profile.alias}`"] if has_alias(cluster.settings) else []
    return [*backups, *released.commands, *parks]


def _back_up_all(
    cluster: Cluster, jobs: Sequence[AllocationShown], meant: int | None
) -> list[SavedCopy]:
    """The last copy is the one that comes back next time: that of the job that commands go to.

    One that an earlier job left there is not, and goes before it.
    """
    _require_running(jobs)
    if len(jobs) > 1:
        jobs = sorted(
            jobs, key=lambda job: (has_present_work(cluster, job.job_id), job.job_id == meant)
        )
    return [
        copy
        for job in jobs
        for copy in _save_job(cluster, job, is_only=len(jobs) == 1, left=job is not jobs[-1])
    ]


def _require_running(jobs: Sequence[AllocationShown]) -> None:
    stopped = next((job for job in jobs if job.state != "running"), None)
    if stopped is not None:
        suspended = AllocationSuspended(job_id=stopped.job_id, node=stopped.node)
        raise FinalBackupFailed.because_of(suspended)


@contextmanager
def _saying_that_the_node_is_kept(job: AllocationShown, *, is_only: bool) -> Iterator[None]:
    """What keeps the last backup from being taken keeps the node."""
    try:
        yield
    except (AllocationEnded, AllocationMissing, NodeFailed):
        raise  # there is no node to keep
    except WorkspaceAtFormerScratch:
        raise  # it says what saves the work: nothing to give up instead
    except RestoreIncomplete as error:
        if is_only:
            raise FinalBackupFailed.because_of(error) from error
        raise FinalBackupFailed.in_a_move(error, job.node or "?", job.job_id) from error
    except ScratchflowError as error:
        raise FinalBackupFailed.because_of(error, job.job_id, is_only=is_only) from error


def _save_job(
    cluster: Cluster, job: AllocationShown, *, is_only: bool, left: bool
) -> list[SavedCopy]:
    """The last snapshots of a job's nodes, and what they could not hold."""
    cluster.emit(Progress(phase="the last backup"))
    with _saying_that_the_node_is_kept(job, is_only=is_only):
        copies = save_copies(cluster, job.job_id, nodes_of(job), _MESSAGE, left=left)
        copies = looked_at_again(cluster, job.job_id, copies, _MESSAGE)
    if copies[-1].saved.snapshot is None:
        cluster.emit(Log(level="info", message=NO_WORKSPACE))
    return copies
