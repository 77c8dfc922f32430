"""Our jobs in Slurm's queue: find them, tell their state, cancel them.

Slurm alone knows: neither a tmux session nor the exit code of `salloc` says whether a job lives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from scratchflow.cluster.slurm import hostlist
from scratchflow.cluster.slurm.client import ASK_TIMEOUT_S, Slurm
from scratchflow.cluster.slurm.job_text import (
    SACCT_FORMAT,
    SQUEUE_FORMAT,
    accounted_job,
    is_number,
    jobs_in,
    shown_job,
)
from scratchflow.cluster.slurm.request import profile_of
from scratchflow.cluster.slurm.states import CAUSE_TEXTS
from scratchflow.model.allocation import OPEN, Allocation
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.process.child import Completed

_NO_SUCH_JOB = "invalid job id"
_SOON_S = 5.0


def our_jobs(slurm: Slurm, profile: str | None = None, *, ended: bool = False) -> list[Allocation]:
    """The user's jobs that scratchflow asked for, newest last; of one profile, or of all.

    With `ended` also those that ended within Slurm's memory (MinJobAge, 5 minutes by default).
    """
    states = ["--states=all"] if ended else []
    argv = ["squeue", "--noheader", f"--user={slurm.user}", *states, SQUEUE_FORMAT]
    jobs = jobs_in(_answer(slurm, slurm.ask(argv)), slurm.user)
    ours = [job for job in jobs if profile_of(job.name) is not None]
    return [_expanded(slurm, job) for job in ours if profile in {None, profile_of(job.name)}]


def job_named(slurm: Slurm, name: str) -> Allocation | None:
    """The user's job of exactly this name, also a recently ended one; an open one comes first."""
    argv = ["squeue", "--noheader", f"--user={slurm.user}", f"--name={name}", "--states=all"]
    jobs = jobs_in(_answer(slurm, slurm.ask([*argv, SQUEUE_FORMAT])), slurm.user)
    ours = [found for found in jobs if found.name == name]
    chosen = [found for found in ours if found.state in OPEN] or ours
    return _expanded(slurm, chosen[-1]) if chosen else None


def has_other_jobs(slurm: Slurm, this: Allocation) -> bool:
    """Whether the user holds anything besides this job; only then can a per-user limit clear."""
    argv = ["squeue", "--noheader", f"--user={slurm.user}", SQUEUE_FORMAT]
    jobs = jobs_in(_answer(slurm, slurm.ask(argv)), slurm.user)
    return any(job.job_id != this.job_id and job.state != "pending" for job in jobs)


def job(slurm: Slurm, job_id: int, name: str) -> Allocation:
    """The job's state, asked of `squeue`, then `scontrol`, then `sacct`.

    `name` is what we called it: numbers are given out again after a slurmctld lost its state, and
    a stranger's job must not pass for ours. When Slurm answers and has no such job, it has ended
    and the cause is `forgotten`. When Slurm does not answer: SlurmUnreachable, never an end.
    """
    for look in (_by_squeue, _by_scontrol, _by_sacct):
        found = look(slurm, job_id)
        if found is not None and found.name == name:
            return _expanded(slurm, found)
    text = CAUSE_TEXTS["forgotten"]
    return Allocation(job_id=job_id, name=name, state="ended", cause="forgotten", reason_text=text)


def has_ended(slurm: Slurm, job_id: int) -> bool:
    """Whether Slurm, asked just now, knows no such job any more, or knows that it is over."""
    found = _by_squeue(slurm, job_id)
    return found is None or found.state == "ended"


def end_of(slurm: Slurm, job_id: int) -> int | None:
    """When the time limit of the job is, in seconds since 1970; None when it has none. Slurm is not waited for long."""
    found = _by_squeue(slurm, job_id, _SOON_S)
    return found.end_time if found else None


def end_when_begun(environment: Mapping[str, str]) -> int | None:
    """The same as Slurm gave it to the job when that began; None where Slurm gives none, as 22.05."""
    said = environment.get("SLURM_JOB_END_TIME", "")
    return int(said) if is_number(said) else None


def name_of(slurm: Slurm, job_id: int) -> str:
    """What the user's job of this number is called; empty when Slurm knows no such job."""
    found = _by_squeue(slurm, job_id)
    return found.name if found else ""


def cancel(slurm: Slurm, job_id: int, profile: str) -> Allocation:
    """Cancels the profile's job, if it still is one; the job as it was before.

    AllocationMissing when the number is not a job of this user and profile. One that has ended
    already is not an error. Slurm takes the order at once; the job may be `completing` for a while.
    """
    found = _by_squeue(slurm, job_id) or _by_scontrol(slurm, job_id)
    if found is None or profile_of(found.name) != profile:
        raise AllocationMissing(profile=profile)
    if found.state in OPEN:
        # Slurm compares name and user once more: the number may have changed hands since.
        who = [f"--user={slurm.user}", f"--name={found.name}"]
        done = slurm.ask(["scancel", *who, str(job_id)])
        if done.returncode != 0 and _NO_SUCH_JOB not in done.error_text.lower():
            raise slurm.unreachable(done.last_line)
    return _expanded(slurm, found)


def _by_squeue(slurm: Slurm, job_id: int, timeout_s: float = ASK_TIMEOUT_S) -> Allocation | None:
    argv = ["squeue", "--noheader", f"--jobs={job_id}", "--states=all", SQUEUE_FORMAT]
    done = slurm.ask(argv, timeout_s)
    if done.returncode != 0 and _NO_SUCH_JOB in done.error_text.lower():
        return None
    jobs = jobs_in(_answer(slurm, done), slurm.user)
    return next((found for found in jobs if found.job_id == job_id), None)


def _by_scontrol(slurm: Slurm, job_id: int) -> Allocation | None:
    done = slurm.ask(["scontrol", "--oneliner", "show", "job", str(job_id)])
    if done.returncode != 0 and _NO_SUCH_JOB in done.error_text.lower():
        return None
    return shown_job(_answer(slurm, done), slurm.user)


def _by_sacct(slurm: Slurm, job_id: int) -> Allocation | None:
    """The accounting's word, where there is accounting; no word of it is not an error."""
    if not has_accounting(slurm):
        return None
    which = [f"--jobs={job_id}", "--allocations", "--noheader", "--parsable2"]
    try:
        done = slurm.ask(["sacct", *which, SACCT_FORMAT])
    except SlurmUnreachable:
        # Its database may be away while slurmctld, which has just answered, is well.
        return None
    return accounted_job(done.text, job_id, slurm.user) if done.returncode == 0 else None


def has_accounting(slurm: Slurm) -> bool:
    """Asked first, because `sacct` without accounting may wait long for a database."""
    done = slurm.ask(["scontrol", "show", "config"])
    match = re.search(r"^AccountingStorageType\s*=\s*(\S+)", done.text, re.MULTILINE)
    return match is not None and not match[1].endswith("/none") and match[1] != "(null)"


def _answer(slurm: Slurm, done: Completed) -> str:
    """What it printed; a failure nobody foresaw is no answer, and so no statement about a job."""
    if done.returncode != 0:
        raise slurm.unreachable(done.last_line)
    return done.text


def _expanded(slurm: Slurm, job: Allocation) -> Allocation:
    """The job with single node names. `scontrol` knows its own lists best; we can do without."""
    if not job.nodes or not re.search(r"[\[,]", job.nodes[0]):
        return job
    done = slurm.ask(["scontrol", "show", "hostnames", job.nodes[0]])
    names = tuple(done.text.split()) if done.returncode == 0 else ()
    try:
        return msgspec.structs.replace(job, nodes=names or hostlist.expand(job.nodes[0]))
    except ValueError as error:
        raise slurm.unreachable(f"its answer makes no sense: {error}") from error
