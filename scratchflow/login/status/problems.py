"""What `status` warns of: the allocation, the workspace, the auto-backup, the session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from scratchflow.cluster.slurm.jobs import our_jobs
from scratchflow.cluster.slurm.states import CAUSE_TEXTS
from scratchflow.cluster.this_host import node_name
from scratchflow.login.host import LoginHost
from scratchflow.login.status.failed_nodes import had_several_nodes
from scratchflow.login.status.store import is_here
from scratchflow.model.allocation import OPEN, Allocation
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import LatestUnreadable
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.errors.workspace import (
    AutobackupOfOther,
)
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.results.status import (
    FEWER_NODES,
    STORE_MOVED,
    OtherShown,
    Problem,
    SessionShown,
    WorkspaceShown,
)
from scratchflow.model.text import counted, restore_command
from scratchflow.model.times import iso_time
from scratchflow.node.same_store import store_replaced
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.checks.writable import WriteTrial, refuse_unwritable
from scratchflow.store.cut_off import cut_off
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import Heartbeat
from scratchflow.store.identity import has_snapshots, read_store_id
from scratchflow.store.known import snapshots_elsewhere, store_lost
from scratchflow.workspace.workspace import expand


def store_replaced_problem(login: LoginHost, held: Allocation | None) -> Iterator[Problem]:
    """Checked only if the workspace is on this machine: the notes needed for it are there."""
    if not is_here(login.settings, login.environment, held):
        return
    store = expand(login.profile.store, login.environment)
    node, mirror = node_name(login.environment), login.profile.backup.mirror
    error = store_replaced(login.workspace_of(held), store, node, mirror=mirror)
    if error is not None:
        yield Problem(name=error.code, detail=str(error), fix=error.shown_hint)


def store_id_problem(place: StoreDirectory) -> Iterator[Problem]:
    """A store whose `store.json` holds no id: backups stop there."""
    try:
        read_store_id(place)
    except StoreUnusable as error:
        yield Problem(name=error.code, detail=str(error), fix=error.shown_hint)


def store_lost_problem(login: LoginHost, place: StoreDirectory) -> Iterator[Problem]:
    """An empty place where a store was before."""
    error = store_lost(login.home, place, login.host, mirror=login.profile.backup.mirror)
    if error is not None:
        yield Problem(name=error.code, detail=str(error), fix=error.shown_hint)


def store_moved_problem(login: LoginHost, place: StoreDirectory) -> Iterator[Problem]:
    """An empty store, while there are snapshots in another place. Of use to whoever named it by a variable."""
    if has_snapshots(place):
        return
    for other in snapshots_elsewhere(login.home, place)[:1]:
        old = str(Path(other).parent)
        yield Problem(
            name=STORE_MOVED,
            detail=f"the store is `{place.directory.parent}` now, which has no snapshots; there are some of this workspace in `{old}`",
            fix=f"if a variable in `store` has another value than before, `scratchflow config set store {quote(old)}` goes on with"
            " those; if that is meant, the first backup here begins anew, and they stay",
        )


def store_unwritable_problem(place: StoreDirectory, trial: WriteTrial) -> Iterator[Problem]:
    """A store that is full, read-only or cannot be made, in the words that a backup would have for it."""
    error = trial.failure(place.directory) or _never_made(place)
    if error is not None:
        yield Problem(name=error.code, detail=str(error), fix=error.shown_hint)


def _never_made(place: StoreDirectory) -> ScratchflowError | None:
    """Why a store that is not there cannot be made, like beneath a file system that is not mounted."""
    try:
        if not place.directory.is_dir():
            refuse_unwritable(place)
    except ScratchflowError as error:
        return error
    return None


def store_away_on_node(
    login: LoginHost, place: StoreDirectory, heartbeat: Heartbeat | None
) -> Iterator[Problem]:
    """A node that does not reach the store, in the words of its auto-backup."""
    said = cut_off(login.home, place, heartbeat) if heartbeat else None
    if heartbeat and said:
        yield Problem(
            name="autobackup.cut_off",
            detail=f"the auto-backup on `{heartbeat.node}` does not reach the store since {heartbeat.time}: {said.reason}",
            fix=f"no backup can be taken until the store is back on `{heartbeat.node}`: tell whoever runs the cluster;"
            " `scratchflow doctor` looks at the node, and the auto-backup goes on by itself",
        )


def unreadable_snapshots(catalogue: Catalogue) -> Iterator[Problem]:
    try:
        _ = catalogue.latest
    except LatestUnreadable as error:
        yield Problem(name=error.code, detail=str(error), fix=error.shown_hint)
        return
    for one in catalogue.skipped[:1]:
        yield Problem(
            name="snapshots.unreadable",
            detail=f"snapshot {one.snapshot} cannot be used: {one.reason}",
            fix=one.way_out(
                f"repair `{one.snapshot}.json` in the store, or move it out of the store to give it up"
            )
            + "; until then no snapshot is removed",
        )


def _several(jobs: list[Allocation]) -> Problem:
    """More than one job: which has a node, which waits and why, and the ways out of it."""
    waiting = [job for job in jobs if job.state == "pending"]
    others = [job for job in jobs if job.state != "pending"]
    held = [f"job {job.job_id} holds `{job.node or '?'}`" for job in others]
    details = [*held, *map(_waiting_words, waiting)]
    fix = "`scratchflow hop` finishes the move, `scratchflow clear` gives all of them back"
    if waiting:
        its = "it" if len(waiting) == 1 else "them"
        fix = f"`scratchflow clear --pending` withdraws {its}"
    if waiting and others:
        fix = f"`scratchflow hop` waits for {its} and moves there, `scratchflow clear --pending` withdraws {its} alone"
    return Problem(name="allocation.several", detail="; ".join(details), fix=fix)


def _waiting_words(job: Allocation) -> str:
    why = f": {job.reason_text}" if job.reason_text else ""
    when = iso_time(job.start_estimate)
    return f"job {job.job_id} waits in the queue{why}" + (f", expected at {when}" if when else "")


def job_problems(
    jobs: list[Allocation], held: Allocation | None, autobackup: AutobackupShown
) -> Iterator[Problem]:
    open_jobs = [job for job in jobs if job.state in OPEN]
    if len(open_jobs) > 1:
        yield _several(open_jobs)
    if held is None and jobs and jobs[-1].cause not in {None, "cancelled", "completed"}:
        last = jobs[-1]
        reason = CAUSE_TEXTS[last.cause] if last.cause else ""
        if last.cause == "node_fail" and had_several_nodes(last):
            reason = "one of its nodes failed"
        where = (
            f" on `{last.node}`" if last.node else ""
        )  # a request that was refused never had one
        detail = f"job {last.job_id}{where} has ended: {reason}"
        fix = "`scratchflow up` takes another node"
        yield Problem(name="allocation.ended", detail=detail, fix=fix)
    if autobackup.overdue:
        yield Problem(
            name="autobackup.overdue",
            detail="the auto-backup gives no sign of life",
            fix="`scratchflow status --fix` starts it again",
        )
    elif autobackup.enabled and autobackup.alive is None:
        yield Problem(
            name="autobackup.unknown",
            detail="the last sign of life of the auto-backup lies in the future, because the clocks of"
            " its node and of this host differ; whether it still runs is not known",
            fix="`scratchflow autobackup on` asks Slurm, and starts it if it does not run",
        )
    elif autobackup.other_settings:
        yield Problem(
            name="autobackup.other_settings",
            detail="the auto-backup was started with other settings than the profile has now",
            fix="`scratchflow autobackup on` starts it again with these",
        )
    if autobackup.last_error and not autobackup.overdue:
        yield Problem(
            name="autobackup.failed",
            detail=f"the last automatic backup failed: {autobackup.last_error}",
            fix="`scratchflow backup` shows why",
        )
    if held is not None and autobackup.kept_off_by:
        yield _kept_off(held, autobackup)
    yield from _on_further_nodes(autobackup)


def autobackup_off(
    workspace: WorkspaceShown, held: Allocation | None, autobackup: AutobackupShown
) -> Iterator[Problem]:
    """A workspace on a node of a job that nothing saves, unless somebody switched that off: another profile's job that saved it may have ended."""
    if held is None or held.job_id is None or held.state != "running":
        return
    is_meant = autobackup.switched_off or autobackup.kept_off_by
    if workspace.exists and not autobackup.enabled and not is_meant:
        yield Problem(
            name="autobackup.off",
            detail=f"no auto-backup runs on `{held.node}`: what is changed in `{workspace.path}` is not saved by itself",
            fix="`scratchflow autobackup on` starts it",
        )


def _kept_off(held: Allocation, autobackup: AutobackupShown) -> Problem:
    """None of this profile can be started on the node: what `up` and `autobackup on` would say."""
    profile, job_id = autobackup.kept_off_by, autobackup.kept_off_job
    return Problem(
        name=AutobackupOfOther.code,
        detail=f"no auto-backup of this profile can run on `{held.node}`: that of profile `{profile}` (job {job_id}) has the"
        " same workspace and store there, with other settings (`scratch` or `backup`)",
        fix="`scratchflow hop` moves to another node, `--set workspace=NAME` keeps the two apart,"
        f" `scratchflow -p {profile} clear` gives job {job_id} back",
    )


def fewer_nodes(held: Allocation | None, wanted: int) -> Iterator[Problem]:
    """A job that was asked for before `slurm.nodes` was raised."""
    if held is not None and held.job_id is not None and held.state == "running":
        has = len(held.nodes)
        if 0 < has < wanted:
            yield Problem(
                name=FEWER_NODES,
                detail=f"job {held.job_id} has {counted(has, 'node')}, and the profile asks for {wanted}",
                fix=f"`scratchflow hop` moves to a job of {wanted} nodes;"
                f" `--set slurm.nodes={has}` is content with this one",
            )


def _on_further_nodes(autobackup: AutobackupShown) -> Iterator[Problem]:
    """What is wrong with the auto-backup of another node than the first, which has one."""
    if autobackup.missing_on:
        nodes = ", ".join(f"`{node}`" for node in autobackup.missing_on)
        yield Problem(
            name="autobackup.missing",
            detail=f"no auto-backup runs on {nodes}: what is changed there alone is not saved by itself",
            fix="`scratchflow autobackup on` starts it there",
        )
    for node, reason in autobackup.failed_on.items():
        yield Problem(
            name="autobackup.failed",
            detail=f"the last automatic backup of `{node}` failed: {reason}",
            fix=f"`scratchflow backup --from-node {node}` shows why",
        )


def unsaved_others(others: list[OtherShown]) -> Iterator[Problem]:
    """Other workspaces on the node that are half restored, or whose last automatic backup failed."""
    for other in others:
        if other.restoring:
            finish = restore_command(other.name, other.other_store)
            yield Problem(
                name="restore.incomplete",
                detail=f"the restore of {other.restoring} into `{other.path}` has not finished: it is half of two"
                " states, and no backup is taken of it",
                fix=f"if it does not run any more, `{finish}` finishes it, and"
                f" `{finish} --abandon` leaves it as it is",
            )
        elif other.last_error:
            yield Problem(
                name="autobackup.failed",
                detail=f"the last automatic backup of `{other.path}` failed: {other.last_error}",
                fix=f"`scratchflow --set workspace={quote(other.name)} backup` shows why",
            )


def forgotten_jobs(
    login: LoginHost, jobs: list[Allocation], living: tuple[Heartbeat, ...]
) -> Iterator[Problem]:
    """A slurmctld that is killed may forget its youngest jobs. Ended ones it remembers for minutes."""
    known = {None, *(job.job_id for job in jobs)}
    if all(heartbeat.job_id in known for heartbeat in living):
        return
    # Another profile may use the same store.
    known |= {job.job_id for job in our_jobs(login.slurm, ended=True)}
    for heartbeat in living:
        if heartbeat.job_id not in known:
            known.add(heartbeat.job_id)  # each of its nodes may have one
            detail = f"job {heartbeat.job_id} ran on `{heartbeat.node}` until {heartbeat.time}, and Slurm has lost it"
            fix = "what was saved is safe; `scratchflow up` takes a node"
            yield Problem(name="allocation.forgotten", detail=detail, fix=fix)


def lost_session(session: SessionShown) -> Iterator[Problem]:
    if session.alive is False:
        yield Problem(
            name="session.lost",
            detail=f"the node is still ours, but there is no tmux session on `{session.host}`",
            fix="`scratchflow attach` opens it again",
        )
