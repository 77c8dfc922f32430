"""Giving the node back, on the login host: our jobs of one profile, and our session. Nothing else."""

from __future__ import annotations

from contextlib import suppress

from scratchflow.cluster.signals import outlive_our_job
from scratchflow.cluster.slurm.jobs import cancel, our_jobs
from scratchflow.cluster.this_host import job_id as this_job_id
from scratchflow.login.autobackup.running import tell_job_ends
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import OPEN, Allocation, with_node
from scratchflow.model.errors.allocation import AllocationLingers, AllocationMissing
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.model.requests import Release
from scratchflow.model.results.allocation import NodeReleased
from scratchflow.process.waiting import looks
from scratchflow.workspace.servers import forget_servers_of

END_S = 15.0
"""How long Slurm may take to end a cancelled job before we go on."""


def release_node(login: LoginHost, request: Release) -> NodeReleased:
    """Cancels these jobs of the profile by their numbers, and ends its tmux session if that is wanted.

    The session stays while another allocation uses it.
    """
    jobs = [job for job in our_jobs(login.slurm, login.settings.name) if job.state in OPEN]
    chosen = [job for job in jobs if request.job_ids is None or job.job_id in request.job_ids]
    if request.pending:
        chosen = [job for job in chosen if job.state == "pending"]
    numbers = [job.job_id for job in chosen if job.job_id is not None]
    ends_session = request.end_session and len(chosen) == len(jobs)
    if request.dry_run:
        commands = [f"scancel {number}" for number in numbers]
        session = login.tmux.session(login.settings.name) if login.has_tmux else None
        if ends_session and session:
            commands.append(_kill_command(session))
        return NodeReleased(job_ids=numbers, session_ended=False, commands=commands, dry_run=True)
    if this_job_id(login.environment) in numbers:
        login.remark("this shell is a part of the job that is given back, and ends with it")
        outlive_our_job()
    for job in with_node(chosen):
        tell_job_ends(login, job)
    for number in numbers:
        with suppress(AllocationMissing):  # it has ended meanwhile
            cancel(login.slurm, number, login.settings.name)
    _wait_for_end(login, numbers)
    forget_servers_of(login.home, login.settings.name, numbers)
    ended = ends_session and _end_session(login)
    return NodeReleased(job_ids=numbers, session_ended=ended)


def _kill_command(session: str) -> str:
    return f"tmux -L scratchflow kill-session -t ={session}"


def _wait_for_end(login: LoginHost, numbers: list[int]) -> None:
    for _ in looks(END_S, 0.1, login.clock):
        if not _still_open(login, numbers):
            return
    raise AllocationLingers(job_id=", ".join(map(str, numbers)))


def _still_open(login: LoginHost, numbers: list[int]) -> list[Allocation]:
    jobs = our_jobs(login.slurm, login.settings.name)
    return [job for job in jobs if job.job_id in numbers and job.state in OPEN]


def _end_session(login: LoginHost) -> bool:
    elsewhere = login.session_elsewhere()
    login.forget_session()
    if elsewhere:
        # Its window shows a shell of a job that is gone: untidy, not harmful.
        command = _kill_command(elsewhere.session)
        message = f"on `{elsewhere.host}` a session is left; `{command}` there ends it"
        login.caution("tmux.elsewhere", message)
    if not login.has_tmux:
        return False
    try:
        return login.tmux.kill(login.settings.name)
    except TmuxFailed as error:
        login.caution("tmux.failed", str(error))
        return False
