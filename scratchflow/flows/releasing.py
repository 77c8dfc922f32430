"""Giving the node back, on the login host: our jobs of one profile, and our session. Nothing else."""

from __future__ import annotations

import time
from contextlib import suppress

from scratchflow.cluster.slurm_jobs import cancel, our_jobs
from scratchflow.cluster.tmux_host import forget_session
from scratchflow.flows.login_host import LoginHost
from scratchflow.flows.wishes import Release
from scratchflow.model.allocation import OPEN, Allocation
from scratchflow.model.errors import AllocationMissing, SlurmUnreachable, TmuxFailed
from scratchflow.model.results import NodeReleased

END_S = 15.0
"""How long Slurm may take to end a cancelled job before we go on."""


def release_node(login: LoginHost, wish: Release) -> NodeReleased:
    """Cancels the profile's jobs by their numbers and ends its tmux session.

    With `job_id` only that one, and the session stays: another allocation uses it.
    """
    jobs = [job for job in our_jobs(login.slurm, login.settings.name) if job.state in OPEN]
    if wish.job_id is not None:
        jobs = [job for job in jobs if job.job_id == wish.job_id]
    numbers = [job.job_id for job in jobs if job.job_id is not None]
    if wish.dry_run:
        commands = [f"scancel {number}" for number in numbers]
        return NodeReleased(job_ids=numbers, session_ended=False, commands=commands, dry_run=True)
    for number in numbers:
        with suppress(AllocationMissing):  # it has ended meanwhile
            cancel(login.slurm, number, login.settings.name)
    _wait_for_end(login, numbers)
    ended = wish.job_id is None and _end_session(login)
    return NodeReleased(job_ids=numbers, session_ended=ended)


def _wait_for_end(login: LoginHost, numbers: list[int]) -> None:
    until = time.monotonic() + END_S
    while _still_open(login, numbers):
        if time.monotonic() >= until:
            left = ", ".join(map(str, numbers))
            raise SlurmUnreachable(
                host=login.slurm.host, reason=f"job {left} was cancelled, but does not end"
            )
        time.sleep(0.1)


def _still_open(login: LoginHost, numbers: list[int]) -> list[Allocation]:
    jobs = our_jobs(login.slurm, login.settings.name)
    return [job for job in jobs if job.job_id in numbers and job.state in OPEN]


def _end_session(login: LoginHost) -> bool:
    elsewhere = login.session_elsewhere()
    forget_session(login.home, login.settings.name)
    if elsewhere:
        # Its window shows a shell of a job that is gone: untidy, not harmful.
        name = login.profile.tmux_session
        command = f"tmux -L scratchflow kill-session -t {name}"
        login.caution("tmux.elsewhere", f"on `{elsewhere}` a session is left; `{command}` ends it")
    if not login.has_tmux:
        return False
    try:
        return login.tmux.kill(login.settings.name)
    except TmuxFailed as error:
        login.caution("tmux.failed", str(error))
        return False
