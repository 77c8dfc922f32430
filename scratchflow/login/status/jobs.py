"""The profile's jobs as `status` shows them."""

from __future__ import annotations

import time

from scratchflow.cluster.slurm.batch.queue import queued_tasks
from scratchflow.cluster.slurm.jobs import our_jobs
from scratchflow.cluster.slurm.request import profile_of
from scratchflow.cluster.slurm.states import state_of
from scratchflow.cluster.this_host import node_name
from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.disk.durable import is_there
from scratchflow.login.detached_runs import detached_runs
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.look import store_of
from scratchflow.model.allocation import HELD, OPEN, Allocation
from scratchflow.model.requests import OpenJobs
from scratchflow.model.results.status import (
    AllocationShown,
    ElsewhereShown,
    JobsShown,
    SubmittedOpen,
)
from scratchflow.model.times import iso_time
from scratchflow.store.jobs.records import job_directory
from scratchflow.workspace.current_job import noted_job, worked_in

# The profile's own, and the open ones of other profiles.
JobsSeen = tuple[list[Allocation], list[Allocation]]


def open_jobs(login: LoginHost, asked: OpenJobs) -> JobsShown:
    """The profile's allocations, oldest first: those that run, and those that wait or are stopped."""
    looks_further = asked.any_profile or asked.others_too
    found = our_jobs(login.slurm) if looks_further else profile_jobs(login)
    jobs = [job for job in found if job.state in OPEN]
    others = [job for job in jobs if profile_of(job.name) != login.settings.name]
    meant = meant_of(login, [job for job in jobs if job not in others])
    listed = jobs if asked.any_profile else [job for job in jobs if job not in others]
    shown = [allocation_shown(job, time.time()) for job in listed]
    detached = detached_runs(login) if asked.detached else []
    return JobsShown(
        jobs=[one for one in shown if one is not None],
        detached=detached,
        elsewhere=elsewhere_shown(others) if looks_further else [],
        submitted=_submitted(login) if looks_further else [],
        meant=meant.job_id if meant else None,
    )


def _submitted(login: LoginHost) -> list[SubmittedOpen]:
    """The user's submitted jobs that have not ended, oldest first; an array is one job."""
    waits: dict[int, bool] = {}
    jobs: dict[int, str] = {}
    for task in queued_tasks(login.slurm):
        state, _ = state_of(task.state)
        if state != "ended":
            waits[task.number] = waits.get(task.number, True) and state == "pending"
            jobs[task.number] = task.job
    return [
        SubmittedOpen(job_id=number, waits=waits[number], is_listed=_is_listed(login, jobs[number]))
        for number in sorted(waits)
    ]


def _is_listed(login: LoginHost, job: str) -> bool:
    """Whether the profile's store has a record of it. Of a store that is away, nobody knows."""
    place = store_of(login)
    return not place.directory.is_dir() or is_there(job_directory(place, job).path)


def meant_of(login: LoginHost, jobs: list[Allocation]) -> Allocation | None:
    """The allocation that is meant by default: of those with a node the one that is worked in, else one that waits."""
    held = [job for job in jobs if job.state in HELD]
    if len(held) > 1:
        return worked_in(held, noted_job(login.home, login.settings.name))
    waiting = [job for job in jobs if job.state in OPEN]
    return next(iter(reversed(held or waiting)), None)


def profile_jobs(login: LoginHost) -> list[Allocation]:
    """The profile's jobs, newest last, with those that ended a short while ago."""
    return jobs_seen(login)[0]


def jobs_seen(login: LoginHost) -> JobsSeen:
    """The same, and the open jobs of other profiles beside them: Slurm is asked once for both."""
    if login.profile.scheduler == "none":
        if not login.has_tmux:
            return [], []
        found = none.allocation(login.tmux, login.settings.name, node_name(login.environment))
        return ([found] if found else []), []
    own: list[Allocation] = []
    others: list[Allocation] = []
    for job in our_jobs(login.slurm, ended=True):
        if profile_of(job.name) == login.settings.name:
            own.append(job)
        elif job.state in OPEN:
            others.append(job)
    return own, others


def elsewhere_shown(jobs: list[Allocation]) -> list[ElsewhereShown]:
    """What other profiles hold, for `status` of this one."""
    return [
        ElsewhereShown(
            profile=profile_of(job.name) or "?",
            job_id=job.job_id,
            state=job.state,
            node=job.node,
            end_time=iso_time(job.end_time),
        )
        for job in jobs
    ]


def allocation_shown(held: Allocation | None, now_s: float) -> AllocationShown | None:
    if held is None:
        return None
    return AllocationShown(
        state=held.state,
        job_id=held.job_id,
        node=held.node,
        nodes=list(held.nodes),
        partition=held.partition,
        end_time=iso_time(held.end_time),
        seconds_left=None if held.end_time is None else max(0, int(held.end_time - now_s)),
        start_time=iso_time(held.start_time),
        reason=held.reason_text,
        start_estimate=iso_time(held.start_estimate),
    )
