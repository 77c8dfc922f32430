"""Holds a node, on the login host: finds our job or requests one, waits for it, gives it back."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from scratchflow.cluster.command import command_environment
from scratchflow.cluster.signals import held_back
from scratchflow.cluster.slurm.jobs import cancel, job, our_jobs
from scratchflow.cluster.slurm.nodes import find_node
from scratchflow.cluster.slurm.request import login_shell_argv
from scratchflow.cluster.slurm.salloc import DirectHolder
from scratchflow.cluster.slurm.submit import is_hang_up, resume
from scratchflow.cluster.slurm.wait import Patience, ended_error
from scratchflow.cluster.tmux.window import NodeShell, show_node
from scratchflow.login.hold.ask import Ask
from scratchflow.login.hold.waiting import submission
from scratchflow.login.host import LoginHost
from scratchflow.login.nodes import newest_not, warm_nodes
from scratchflow.model.allocation import OPEN, Allocation, RunningAllocation, with_node
from scratchflow.model.errors.allocation import (
    AllocationElsewhere,
    AllocationEnded,
    AllocationMissing,
    AllocationSuspended,
    NodeFailed,
    NodeSilent,
)
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.model.requests import Hold
from scratchflow.model.results.allocation import NodeHeld, OtherNode
from scratchflow.model.times import iso_time
from scratchflow.process.waiting import looks
from scratchflow.reach.node import cpus_are_bound, keys_on_login, steps_overlap
from scratchflow.ssh.keys.known_hosts import remember_node
from scratchflow.ssh.keys.node_probe import scan_host_keys, wait_for_sshd
from scratchflow.workspace.current_job import noted_job, worked_in

_SAME_SECOND_S = 1.2
# How long another run takes from its look at the queue until its request is in it.
_OTHER_RUN_S = 3.0


def hold_node(login: LoginHost, asked: Hold) -> NodeHeld:
    """Finds or requests the profile's node; returns when the job runs and the node's sshd answers."""
    jobs = our_jobs(login.slurm, login.settings.name)
    left = next((job.nodes for job in jobs if job.job_id == asked.beside), ())
    open_jobs = _open_jobs(login, asked)
    held = with_node(open_jobs)
    if asked.only_held and not held:
        raise AllocationMissing(profile=login.settings.name)
    ask = Ask(login, asked, left)
    if asked.dry_run:
        return _foretold(ask, held, open_jobs)
    try:
        if held or open_jobs:
            return _held_again(login, asked, _meant(login, held) or open_jobs[-1])
        return _taken(ask)
    except (AllocationEnded, TmuxFailed) as error:
        # Two that start at once share one window: the later one ends the `salloc` of the earlier, or
        # closes the window while that one is at it. And whoever waits for another run's request loses it when that one asks for another node instead.
        return _held_again(login, asked, _of_another_run(login, asked, error))


def _taken(ask: Ask) -> NodeHeld:
    """A node that nobody holds yet; when a warm one fails, any other."""
    got = ask.for_one()
    try:
        return _made_ready(ask.login, ask.asked, got)
    except NodeFailed as error:
        if not ask.prefers(got.node):
            raise
        ask.login.remark(f"{error}; asking for any other node")
    other = msgspec.structs.replace(ask, avoided=got.node).for_one()
    return _made_ready(ask.login, ask.asked, other)


def _of_another_run(login: LoginHost, asked: Hold, error: ScratchflowError) -> Allocation:
    """The job that another run has asked for just now, or is about to; the error when there is none."""
    for _ in looks(_OTHER_RUN_S, _OTHER_RUN_S / 10, login.clock):
        others = _open_jobs(login, asked)
        if others:
            chosen = (with_node(others) or others)[0]
            login.remark(
                f"another run asks for a node too, as job {chosen.job_id}: waiting for that"
            )
            return chosen
    raise error


def _meant(login: LoginHost, held: Sequence[RunningAllocation]) -> RunningAllocation | None:
    return worked_in(held, noted_job(login.home, login.settings.name))


def _open_jobs(login: LoginHost, asked: Hold) -> list[Allocation]:
    """The profile's jobs that run or wait, without the one that is left, and any other on its node."""
    jobs = [job for job in our_jobs(login.slurm, login.settings.name) if job.state in OPEN]
    left = {node for job in jobs if job.job_id == asked.beside for node in job.nodes}
    return [job for job in jobs if job.job_id != asked.beside and not left & set(job.nodes)]


def _made_ready(login: LoginHost, asked: Hold, got: RunningAllocation) -> NodeHeld:
    with _given_back_unless_done(login, asked, got):
        first = _first_granted(login, asked, got)
        if first.job_id == got.job_id:
            return _ready(login, got, reused=False)
    login.remark(f"another run has just got `{first.node}`: giving `{got.node}` back")
    _give_back(login, got)
    return _held_again(login, asked, first)


def _first_granted(login: LoginHost, asked: Hold, got: RunningAllocation) -> RunningAllocation:
    """The job to keep when two runs asked at once: whose node was granted first, then the older one.

    Slurm tells whole seconds, so the younger is looked for until the second of our grant is over:
    whoever is granted later sees us, and gives way. When ours has ended meanwhile it is one of the others.
    """
    others: list[Allocation] = []
    for _ in looks(_SAME_SECOND_S, _SAME_SECOND_S / 2, login.clock):
        jobs = our_jobs(login.slurm, login.settings.name)
        others = [job for job in jobs if job.job_id not in {got.job_id, asked.beside}]
        if not any(job.state in OPEN for job in others):
            break
    is_open = any(job.job_id == got.job_id and job.state in OPEN for job in jobs)
    candidates = [*([got] if is_open else []), *with_node(others)]
    if not candidates:
        raise ended_error(job(login.slurm, got.job_id, got.name))
    return min(candidates, key=lambda job: (job.start_time or 0, job.job_id))


def _held_again(login: LoginHost, asked: Hold, found: Allocation) -> NodeHeld:
    """A job of ours that runs, or waits in the queue since a run that was killed."""
    if found.state == "suspended":
        raise AllocationSuspended(job_id=found.job_id, node=found.node)
    got = found.granted() if found.state == "running" else None
    if got is None:
        holder = DirectHolder(command_environment(login.environment))
        # Whoever asked for it may wait longer than we do: it stays in the queue.
        patience = Patience(asked.wait_s, keep_waiting=True)
        waiting = submission(login, holder, patience, resumed=True)
        got = resume(found.name, login.settings.name, waiting)
    if asked.node and find_node(login.slurm, asked.node) not in got.nodes:
        under_way = "`scratchflow hop` without `--node` finishes the move that is under way"
        next_step = (
            under_way if asked.beside else f"`scratchflow hop --node {asked.node}` moves there"
        )
        raise AllocationElsewhere(
            node=got.node, wanted=asked.node, job_id=got.job_id, next_step=next_step
        )
    try:
        return _ready(login, got, reused=True)
    except NodeFailed as error:
        # The job is not given back: the node may hold work that no snapshot has.
        reason = error.fields["reason"]
        raise NodeSilent(node=got.node, job_id=got.job_id, reason=reason) from error


def _ready(login: LoginHost, got: RunningAllocation, *, reused: bool) -> NodeHeld:
    node, *others = got.nodes
    host_keys = _answering(login, node)
    more = [OtherNode(node=one, host_keys=_answering(login, one)) for one in others]
    login.scratch_of(got, again=not reused)
    warm = warm_nodes(login.settings, login.environment)
    return NodeHeld(
        job_id=got.job_id,
        node=node,
        partition=got.partition,
        end_time=iso_time(got.end_time),
        reused=reused,
        warm=warm.get(node),
        newest=newest_not(warm.get(node), login.settings, login.environment),
        user=login.user,
        host_keys=host_keys,
        session=_show(login, got, reused=reused),
        others=more,
    )


def _answering(login: LoginHost, node: str) -> list[str]:
    """The host keys of a node whose sshd answers; NodeFailed when it does not."""
    wait_for_sshd(node)
    host_keys = scan_host_keys(node)
    if host_keys and not steps_overlap(login.environment):  # then ssh is our way, too
        with suppress(SshConfigRefused):  # a full home costs the record, not the node
            remember_node(keys_on_login(), login.settings.name, node, host_keys)
    return host_keys


def _show(login: LoginHost, got: RunningAllocation, *, reused: bool) -> str | None:
    """Opens the tmux session with a shell on the node. Failing that is a warning: the node is held anyway."""
    if not login.has_tmux or (reused and login.session_elsewhere()):
        return None
    try:
        pane = show_node(
            login.tmux,
            login.settings.name,
            login.profile.tmux_session,
            got,
            NodeShell(
                login_shell_argv(login.shell, login.start_directory(got)),
                steps_overlap(login.environment),
                cpus_are_bound(login.environment),
            ),
            has_ended=login.has_ended,
        )
    except TmuxFailed as error:
        login.caution("tmux.failed", str(error))
        return None
    login.note_session(pane.session)
    return pane.session


@contextmanager
def _given_back_unless_done(
    login: LoginHost, asked: Hold, got: RunningAllocation
) -> Iterator[None]:
    """Cancels a job that was just granted if the block fails or is interrupted.

    One that was waited for without limit stays when only the one who waits is gone.
    """
    try:
        yield
    except BaseException as error:
        if asked.keep_waiting and is_hang_up(error):
            raise
        with suppress(ScratchflowError):
            _give_back(login, got)
        raise


def _give_back(login: LoginHost, got: RunningAllocation) -> None:
    with held_back(), suppress(AllocationMissing):
        cancel(login.slurm, got.job_id, login.settings.name)


def _foretold(ask: Ask, held: list[RunningAllocation], open_jobs: Sequence[Allocation]) -> NodeHeld:
    """What would be run; nothing when a node is held, or a request is in the queue already."""
    now = _meant(ask.login, held)
    if now is not None:
        return _shown(now, "")
    node = ask.node() or (ask.warm_choice() if ask.asked.warm else "")
    command = shlex.join(ask.request(node).argv())
    if open_jobs:
        found, waiting = _shown(None, ""), open_jobs[-1].job_id
        return msgspec.structs.replace(found, job_id=waiting, reused=True, instead=command)
    if doubt := ask.foreseen():
        ask.login.caution("allocation.doubtful", doubt)
    return _shown(None, command)


def _shown(held: RunningAllocation | None, command: str) -> NodeHeld:
    return NodeHeld(
        job_id=held.job_id if held else None,
        node=held.node if held else "",
        partition=held.partition if held else "",
        end_time=iso_time(held.end_time) if held else None,
        reused=held is not None,
        warm=None,
        user="",
        host_keys=[],
        session=None,
        command=command,
        dry_run=True,
        others=[OtherNode(node=node) for node in held.nodes[1:]] if held else [],
    )
