"""`clear`: everything is let go again: a last backup, the job, the session, the alias."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.dispatch.every_node import fork_warning
from scratchflow.flows.alias import has_alias, park
from scratchflow.flows.clear_here import clear_here
from scratchflow.flows.current_work import has_present_work
from scratchflow.flows.serve.serve import end_all
from scratchflow.flows.whose_workspace import holder_of, owners_of
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationMissing,
    AllocationSuspended,
    FinalBackupFailed,
    NodeFailed,
    NodeNotSaved,
    OtherNodeFailed,
    SeveralHeld,
)
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.workspace import WorkspaceAtFormerScratch
from scratchflow.model.events import Emit, Log, Progress, Warned
from scratchflow.model.requests import OpenJobs, Release, SaveNode
from scratchflow.model.results.allocation import Cleared, NodeReleased
from scratchflow.model.results.backup import BackupTaken, NodeSaved
from scratchflow.model.results.status import AllocationShown, DetachedRun, ElsewhereShown, JobsShown
from scratchflow.model.text import counted
from scratchflow.model.units import format_size
from scratchflow.workspace.job_scratch import goes_with_job

# Of the others nothing ran yet. What is stopped, or in a state nobody knows, cannot be saved: it is kept.
_MESSAGE = "before clear"
_HAS_WORK = {"running", "suspended", "unknown"}
_NAMED = 5
_FORETOLD_BESIDE = SaveNode(beside=True, dry_run=True)
NO_WORKSPACE = "there is no workspace on the node: nothing to back up"


class ClearOptions(msgspec.Struct, frozen=True):
    """How to let go."""

    backup: bool = True
    dry_run: bool = False
    # Gives the node back though files on it are in no snapshot.
    leave_behind: bool = False
    # Withdraws what waits in the queue, and keeps the node.
    pending: bool = False


def clear(caller: Caller, emit: Emit, options: ClearOptions) -> Cleared:
    """Releases only what is in snapshots as a whole, unless no backup is wanted.

    Killed anywhere, running it again does the rest: each step looks at what is true first.
    """
    with cluster_of(caller.settings(), caller, emit) as cluster:
        return clear_on(cluster, options)


def clear_on(cluster: Cluster, options: ClearOptions) -> Cleared:
    """The same on a cluster that is reached already."""
    if options.pending:
        return _withdraw(cluster, options)
    if cluster.settings.profile.scheduler == "none":
        return clear_here(cluster, backup=options.backup, dry_run=options.dry_run)
    shown = cluster.on_login("jobs open", OpenJobs(detached=True, others_too=True), JobsShown)
    jobs = shown.jobs
    # First: until the last backup is taken, Ctrl-C keeps the node and all that runs there.
    tell_what_ends(cluster.emit, shown.detached, {job.job_id for job in jobs})
    saved = [job for job in jobs if job.state in _HAS_WORK] if options.backup else []
    if options.dry_run:
        _require_running(saved)
        seen = [copy for job in saved for copy in _foretold(cluster, job, is_only=len(saved) == 1)]
        require_all_saved(cluster, seen, verb="clear", leave_behind=options.leave_behind)
    if not options.backup:
        _require_one(shown)
        _warn_without_backup(cluster, jobs, dry_run=options.dry_run)
    taken = [] if options.dry_run else _back_up_all(cluster, saved)
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
        commands=_commands(cluster, saved, released) if options.dry_run else [],
        dry_run=options.dry_run,
        unsaved=sum(copy.saved.unsaved for copy in taken),
        unsaved_beside=sum(copy.saved.unsaved for copy in taken if copy.beside),
        unsaved_paths=[path for copy in taken for path in copy.saved.unsaved_paths],
        goes_with_job=any(copy.saved.goes_with_job for copy in taken),
        elsewhere=shown.elsewhere,
        submitted=shown.submitted,
    )


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


def tell_what_ends(emit: Emit, runs: Iterable[DetachedRun], jobs: set[int | None]) -> None:
    """Warns of the commands that end with these jobs."""
    for run in runs:
        if run.job_id in jobs:
            message = f"`run --detach` left a command running in window `{run.window}`: it ends with job {run.job_id}"
            emit(Warned(code="run.ends", message=message))


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
    cluster: Cluster, saved: Sequence[AllocationShown], released: NodeReleased
) -> list[str]:
    backups = [
        command for job in saved for command in backup_commands(job.job_id, job.node, job.nodes[1:])
    ]
    parks = [f"park `{cluster.settings.profile.alias}`"] if has_alias(cluster.settings) else []
    return [*backups, *released.commands, *parks]


def backup_commands(job_id: int | None, node: str | None, others: Sequence[str]) -> list[str]:
    """The backups of a job's nodes, for a dry run: in the order in which they are taken."""
    return [f"scratchflow backup (job {job_id} on {one})" for one in [*others, node]]


def _back_up_all(cluster: Cluster, jobs: Sequence[AllocationShown]) -> list[SavedCopy]:
    """The last snapshot is the one that comes back next time: a copy from an earlier job goes first."""
    _require_running(jobs)
    if len(jobs) > 1:
        jobs = sorted(jobs, key=lambda job: has_present_work(cluster, job.job_id))
    is_only = len(jobs) == 1
    return [copy for job in jobs for copy in _save_job(cluster, job, is_only=is_only)]


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
    except ScratchflowError as error:
        raise FinalBackupFailed.because_of(error, job.job_id, is_only=is_only) from error


def foretell_last_backup(
    cluster: Cluster, job_id: int | None, nodes: Sequence[str]
) -> list[SavedCopy]:
    """For a dry run: says what the last backup of each node would store, and raises what would keep it from being taken."""
    cluster.emit(Progress(phase="looking at the workspace"))
    first, *others = nodes
    copies = [_ask_beside(cluster, job_id, node, _FORETOLD_BESIDE) for node in others]
    request = SaveNode(dry_run=True)
    saved = cluster.at_workspace("save node", request, NodeSaved, job_id=job_id)
    copies.append(SavedCopy(first, saved))
    own = cluster.settings.profile.workspace
    for copy in copies:
        for words in foretold_words(copy, own, name_node=bool(others)):
            cluster.emit(Log(level="info", message=words))
    return copies


def foretold_words(copy: SavedCopy, own: str, *, name_node: bool) -> Iterator[str]:
    """What the last backup of a node would store: of the profile's own workspace in any case, of others if there is anything."""
    where = f" of `{copy.node}`" if name_node else ""
    foretold = copy.saved.foretold
    if own not in foretold:
        yield (
            f"there is no workspace on `{copy.node}`: nothing to back up" if where else NO_WORKSPACE
        )
    for name, seen in foretold.items():
        if seen.kind != "unchanged":
            what = "the workspace" if name == own else f"workspace `{name}`"
            yield f"the last backup{where} would save {what}: {_changes(seen)}"
        elif name == own:
            on_node = f" on `{copy.node}`" if name_node else ""
            yield f"nothing changed{on_node} since snapshot {seen.snapshot}"


def _changes(seen: BackupTaken) -> str:
    changes = [f"{counted(seen.changed_files, 'file')} ({format_size(seen.changed_bytes)}) changed"]
    if seen.moved_files:
        changes.append(f"{counted(seen.moved_files, 'file')} copied or moved")
    if seen.removed_files:
        changes.append(f"{counted(seen.removed_files, 'file')} removed")
    return ", ".join(changes)


def _save_job(cluster: Cluster, job: AllocationShown, *, is_only: bool) -> list[SavedCopy]:
    """The last snapshots of a job's nodes, and what they could not hold."""
    cluster.emit(Progress(phase="the last backup"))
    with _saying_that_the_node_is_kept(job, is_only=is_only):
        copies = save_copies(cluster, job.job_id, nodes_of(job), _MESSAGE)
        copies = _looked_at_again(cluster, job.job_id, copies)
    if copies[-1].saved.snapshot is None:
        cluster.emit(Log(level="info", message=NO_WORKSPACE))
    return copies


class SavedCopy(msgspec.Struct, frozen=True):
    """What was saved of one node; `beside` when it is not the first of its job."""

    node: str
    saved: NodeSaved
    beside: bool = False


def save_copies(
    cluster: Cluster, job_id: int | None, nodes: Sequence[str], message: str
) -> list[SavedCopy]:
    """Saves every node of a job. The first comes last: its copy is what the next `up` brings.

    What only another node has becomes a fork. Nothing of the copies is merged.
    """
    first, *others = nodes
    copies: list[SavedCopy] = []
    try:
        for node in others:
            copies.append(_save_beside(cluster, job_id, node, message))  # noqa: PERF401 - those before a failure are told
        request = SaveNode(message=message)
        saved = cluster.at_workspace("save node", request, NodeSaved, job_id=job_id)
    except (AllocationEnded, AllocationMissing, NodeFailed):
        _tell_forks(cluster, copies)
        if others:
            _tell_not_saved(cluster, [*others[len(copies) :], first])
        raise
    copies.append(SavedCopy(first, saved))
    _tell_forks(cluster, copies)
    return copies


def nodes_of(job: AllocationShown) -> list[str]:
    """Its nodes; the first one is that of the workspace."""
    return job.nodes or [str(job.node)]


def _tell_not_saved(cluster: Cluster, nodes: Sequence[str]) -> None:
    """The job ended while its nodes were saved: what may still be on those that this command did not come to."""
    names = ", ".join(f"`{node}`" for node in nodes)
    fate = "stays on that node's disk, and the next `scratchflow up` that gets the node saves it"
    if goes_with_job(cluster.settings.profile.scratch, "", None):
        fate = "is gone with the job"
    message = (
        f"the job ended before this command had saved {names}. The auto-backup there takes a last snapshot when the job"
        f" ends (`scratchflow snapshots list`); what is in none {fate}"
    )
    cluster.emit(Warned(code="nodes.not_saved", message=message))


def _looked_at_again(
    cluster: Cluster, job_id: int | None, copies: Sequence[SavedCopy]
) -> list[SavedCopy]:
    """The further nodes once more: what was written there while the others were saved is saved by nobody else.

    On the first node the auto-backup takes a last snapshot when the job ends.
    """
    found = []
    for copy in copies:
        if copy.beside:
            again = _save_beside(cluster, job_id, copy.node, _MESSAGE)
            _tell_forks(cluster, [again])
            found.append(_together(copy, again))
        else:
            found.append(copy)
    return found


def _together(before: SavedCopy, again: SavedCopy) -> SavedCopy:
    """The state now, with the snapshot of whichever look stored something; the later one holds both."""
    if again.saved.stored or not before.saved.stored:
        return again
    saved = msgspec.structs.replace(again.saved, stored=True, snapshot=before.saved.snapshot)
    return msgspec.structs.replace(again, saved=saved)


def _tell_forks(cluster: Cluster, copies: Sequence[SavedCopy]) -> None:
    for node, fork in forks_of(copies).items():
        cluster.emit(fork_warning(node, fork))


def _save_beside(cluster: Cluster, job_id: int | None, node: str, message: str) -> SavedCopy:
    return _ask_beside(
        cluster, job_id, node, SaveNode(message=f"{message}, of {node}", beside=True)
    )


def _ask_beside(cluster: Cluster, job_id: int | None, node: str, request: SaveNode) -> SavedCopy:
    try:
        saved = cluster.at_workspace("save node", request, NodeSaved, job_id=job_id, node=node)
    except (AllocationEnded, AllocationMissing, NodeFailed):
        raise
    except ScratchflowError as error:
        raise OtherNodeFailed.because_of(node, error) from error
    return SavedCopy(node, saved, beside=True)


def forks_of(copies: Sequence[SavedCopy]) -> dict[str, str]:
    """The snapshots of what only one of the other nodes had, by node."""
    return {
        one.node: one.saved.snapshot
        for one in copies
        if one.beside and one.saved.stored and one.saved.snapshot
    }


def require_saved(node: str | None, saved: NodeSaved, *, verb: str, leave_behind: bool) -> None:
    """Refuses to give a node back while files on it are in no snapshot, unless that is wanted."""
    if saved.unsaved and not leave_behind:
        count, paths = counted(saved.unsaved, "path"), _named(saved)
        ways = "; ".join(saved.unsaved_ways) or "save or delete them"
        raise NodeNotSaved(node=node, count=count, paths=paths, verb=verb, ways=ways)


def require_all_saved(
    cluster: Cluster, copies: Sequence[SavedCopy], *, verb: str, leave_behind: bool
) -> None:
    """The same for all nodes; says what goes with them if that is wanted."""
    for copy in copies:
        require_saved(copy.node, copy.saved, verb=verb, leave_behind=leave_behind)
    for copy in copies:
        warn_of_loss(cluster.emit, copy.node, copy.saved)


def warn_of_loss(emit: Emit, node: str | None, saved: NodeSaved) -> None:
    """Says what goes with the node."""
    if saved.unsaved:
        count = counted(saved.unsaved, "path")
        many = ("go with the job", "stay behind")
        one = ("goes with the job", "stays behind")
        fate = (one if saved.unsaved == 1 else many)[0 if saved.goes_with_job else 1]
        message = f"{count} on `{node}` {fate}, in no snapshot: {_named(saved)}"
        emit(Warned(code="release.left_behind", message=message))


def tell_excluded(
    emit: Emit, copies: Sequence[SavedCopy], elsewhere: Sequence[ElsewhereShown] = ()
) -> None:
    """What does not come along: because it lies beside the workspace, or a pattern keeps it out of snapshots."""
    for copy in copies:
        if copy.saved.other_files:
            named = ", ".join(f"`{one}`" for one in copy.saved.other_files[:_NAMED])
            more = ", …" if len(copy.saved.other_files) > _NAMED else ""
            message = f"no backup saves what lies beside the workspace on `{copy.node}`: {named}{more}; `backup.also` names what is saved with it"
            emit(Log(level="info", message=message))
        if copy.saved.debug_copies:
            emit(Log(level="info", message=_debug_words(copy, holder_of(copy.node, elsewhere))))
    patterns = list(dict.fromkeys(one for copy in copies for one in copy.saved.excluded))
    if not patterns:
        return
    named = ", ".join(f"`{one}`" for one in patterns[:_NAMED])
    more = ", …" if len(patterns) > _NAMED else ""
    nodes = ", ".join(f"`{copy.node}`" for copy in copies if copy.saved.excluded)
    is_gone = any(copy.saved.goes_with_job for copy in copies)
    fate = "goes with the job" if is_gone else f"stays on {nodes}"
    message = f"excluded ({named}{more}): what matches is in no snapshot, and {fate}"
    emit(Log(level="info", message=message))


def _debug_words(copy: SavedCopy, holder: str) -> str:
    made = copy.saved.debug_copies
    named = ", ".join(f"`{one}`" for one in made[:_NAMED]) + (", …" if len(made) > _NAMED else "")
    fate = (
        "goes with the job"
        if copy.saved.goes_with_job
        else f"stays on its scratch; profile `{holder}` still holds that node, and `scratchflow -p {holder} run` can remove it"
        if holder
        else "stays on its scratch; remove it when you have that node again"
    )
    return f"what `jobs debug` made on `{copy.node}` is in no snapshot and {fate}: {named}"


def _named(saved: NodeSaved) -> str:
    paths = ", ".join(f"`{path}`" for path in saved.unsaved_paths[:_NAMED])
    return f"{paths}, …" if saved.unsaved > _NAMED else paths
