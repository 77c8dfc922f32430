"""`jobs` and `jobs show`, on the login host."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from scratchflow.cluster.slurm.states import state_of
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.ends import (
    is_cancelled_before_another_run,
    is_unlaunched_again,
    name_of,
    rest_of,
    why,
)
from scratchflow.login.jobs.find import known_jobs
from scratchflow.login.jobs.look import Looked, has_failed, is_end, is_settled, look_at, store_of
from scratchflow.model.job import JobRecord, TaskRecord
from scratchflow.model.requests import ListJobs, OneJob
from scratchflow.model.results.jobs import (
    Condition,
    JobInspected,
    JobShown,
    JobsListed,
    TaskShown,
)
from scratchflow.model.times import epoch, iso_time
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.jobs.over import note_over, read_over
from scratchflow.store.jobs.records import job_directory, job_ids, last_outputs, read_job

SHOWN_ENDED = 20
"""How many ended jobs are listed unless all are asked for."""
# Of several tasks, the first of these that one of them is in tells the state of the job.
_ORDER = ("RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "PENDING", "SUBMITTING")
_GOOD = "COMPLETED"
# Of our own words, and of Slurm's as `state_of` has them.
_CONDITIONS: dict[str, Condition] = {
    "SUBMITTING": "waiting",
    "NOT_SUBMITTED": "failed",
    "pending": "waiting",
    "configuring": "waiting",
    "suspended": "waiting",
    "running": "running",
    "completing": "running",
    "completed": "succeeded",
    "cancelled": "cancelled",
    "unknown": "unknown",
}


def list_jobs(login: LoginHost, asked: ListJobs) -> JobsListed:
    """The jobs of this workspace, oldest first: all that are open, and the newest of those that ended."""
    if (
        login.settings.profile.scheduler == "none"
    ):  # whatever the store holds, no job was submitted here
        return JobsListed(jobs=[], no_cluster=True)
    place = store_of(login)
    over = read_over(place)
    unread = _unread(place, over, asked)
    jobs = known_jobs(login, place, unread)
    records = [record for record in jobs.records if _is_asked_for(record, asked)]
    looked = look_at(login, place, records)
    shown = [shown_job(place, one) for one in looked]
    settled = {one.record.id for one in looked if is_settled(one, time.time())}
    settled -= {job.job for job in shown if _is_unsaved(job)}
    if settled - over:
        note_over(place, over & set(job_ids(place)) | settled)
    if asked.state:
        wanted = asked.state.upper()
        shown = [
            job
            for job in shown
            if job.state == wanted or any(task.state == wanted for task in job.tasks)
        ]
    if asked.every or asked.state or asked.since_s:
        return JobsListed(jobs=shown, damaged=jobs.damaged)
    ended = [job for job in shown if is_end(job.state)]
    # However old: nobody else says that something of it lies on a node alone.
    left_out = {job.job for job in ended[:-SHOWN_ENDED] if not _is_unsaved(job)}
    return JobsListed(
        jobs=[job for job in shown if job.job not in left_out],
        left_out=len(left_out) + len(unread),
        damaged=jobs.damaged,
    )


def _is_unsaved(job: JobShown) -> bool:
    return any(task.unsaved_on for task in job.tasks)


def _unread(place: StoreDirectory, over: set[str], asked: ListJobs) -> set[str]:
    """Jobs that are over for good, and older than those which are shown: nobody has to look at them."""
    if not over or asked.every or asked.state or asked.since_s or asked.tag:
        return set()
    return set([job for job in job_ids(place) if job in over][:-SHOWN_ENDED])


def show_job(login: LoginHost, asked: OneJob) -> JobInspected:
    """One job; `12_3` is one task of it."""
    place = store_of(login)
    jobs = known_jobs(login, place)
    record, task = jobs.find(asked.wanted)
    (looked,) = look_at(login, place, [record], in_full=True)
    shown = shown_job(place, looked)
    before = read_job(place, record.rerun_of) if record.rerun_of else None
    shown = msgspec.structs.replace(
        shown,
        rerun_of_number=before.number if before else None,
        same_number=jobs.of_same_number(record),
    )
    return JobInspected(job=shown, task=task)


def _is_asked_for(record: JobRecord, asked: ListJobs) -> bool:
    is_tagged = not asked.tag or asked.tag in record.tags
    return is_tagged and (epoch(record.time) or 0) >= asked.since_s


def shown_job(place: StoreDirectory, looked: Looked) -> JobShown:
    """What people are shown of it."""
    record = looked.record
    printed = last_outputs(place, record.id) if looked.tasks else {}
    tasks = [_shown_task(looked, task, printed.get(task)) for task in record.task_numbers]
    git = record.git or next((own.git for own in looked.tasks.values() if own.git), None)
    state = _whole(tasks)
    return JobShown(
        job=record.id,
        number=record.number,
        handle=name_of(record),
        name=record.name,
        state=state,
        states=states_of(tasks),
        condition=condition_of(state),
        is_open=any(task.is_open for task in tasks),
        is_array=record.is_array,
        failed_tasks=sum(has_failed(task.state) for task in tasks),
        time=record.time,
        command=record.command,
        snapshot=record.snapshot,
        directory=str(job_directory(place, record.id).path),
        profile=record.profile,
        script=record.script,
        cwd=record.directory,
        tags=record.tags,
        collect=record.collect,
        git=git,
        slurm=_as_sent(record.slurm) | record.script_slurm,
        sbatch=record.sbatch,
        continues=record.continues,
        signal=record.signal,
        rerun_of=record.rerun_of,
        tasks=tasks,
    )


def _whole(tasks: list[TaskShown]) -> str:
    states = [task.state for task in tasks]
    for state in _ORDER:
        if state in states:
            return state
    return next((state for state in states if state != _GOOD), _GOOD)


def states_of(tasks: Sequence[TaskShown]) -> str:
    """`FAILED`, or of several tasks how many are in which state."""
    if len(tasks) == 1:
        return tasks[0].state
    counts = Counter(task.state for task in tasks).most_common()
    return ", ".join(f"{count} {state}" for state, count in counts)


@lru_cache(maxsize=64)  # asked for each task of an array
def condition_of(state: str) -> Condition:
    """What the state comes to; an end that is neither good nor somebody's decision is a failure."""
    if state in _CONDITIONS:
        return _CONDITIONS[state]
    ours, cause = state_of(state)
    return _CONDITIONS.get(cause or ours, "failed")


def _as_sent(slurm: dict[str, Any]) -> dict[str, Any]:
    """As Slurm got it: a task for each node at least."""
    return {**slurm, "ntasks": max(slurm.get("ntasks") or 1, slurm.get("nodes") or 1)}


def _shown_task(looked: Looked, task: int, printed_s: float | None) -> TaskShown:
    record, own = looked.record, looked.tasks.get(task)
    said, queued = looked.end(task), looked.queued.get(task)
    state = looked.state(task)
    is_unlaunched = is_unlaunched_again(own, said)
    is_cancelled = is_cancelled_before_another_run(own, said)
    # A task that was requeued, and waits, was cancelled so or was not launched, has a record of its earlier run, and no node or time of its own.
    ran = None if state == "PENDING" or is_unlaunched or is_cancelled else own
    is_open = queued is not None and not is_end(state)
    past = looked.past(task)
    rest = rest_of(past, waits=state == "PENDING")
    reason = waits_for(queued.reason, own) if queued is not None and state == "PENDING" else ""
    code = own.code if own is not None and own.code is not None else said.code if said else None
    return TaskShown(
        task=task,
        job_id=queued.job_id if queued else said.job_id if said else own.job_id if own else None,
        handle=name_of(record, task),
        state=state,
        condition=condition_of(state),
        is_open=not is_end(state),
        why=reason or why(record, task, state, own, said, is_damaged=task in looked.damaged),
        node=(queued.node if queued else "") or (ran.node if ran else said.node if said else ""),
        start=ran.start if ran else said.start if said and not is_cancelled else None,
        end=None if is_open else (said.end if said else None) or (own.end if own else None),
        code=None if is_open else code,
        restarts=own.restarts + is_unlaunched if own else 0,
        parameters=record.tasks[task] if task < len(record.tasks) else {},
        collected_files=own.collected_files if own else 0,
        collected_bytes=own.collected_bytes if own else 0,
        earlier_files=own.earlier_files if own else 0,
        collected_paths=own.collected_paths if own else [],
        not_collected=[*own.not_collected, *_left(own)] if own else [],
        # Without what `rest` says.
        left_out=[line for line in own.left_out if line not in rest] if own else [],
        links_out=own.links_out if own else [],
        unmatched=own.unmatched if own is not None and not is_open else [],
        peak_memory_bytes=said.peak_memory_bytes if said else None,
        cpu_s=said.cpu_s if said else None,
        cancelled_by=said.cancelled_by if said else "",
        last_output=iso_time(printed_s) if own else None,
        got=own.got if own else {},
        continued=own.continued if own else 0,
        damaged=task in looked.damaged,
        unsaved_on=past.unsaved_on if past else [],
        lost=bool(past and past.has_lost),
        rest=rest,
        removed=own.removed if own else [],
    )


def _left(own: TaskRecord) -> list[str]:
    """What could not be saved of earlier runs, with the node that has it."""
    return [f"{node}: {line}" for node, lines in own.left_failed.items() for line in lines]


def waits_for(reason: str, own: TaskRecord | None = None) -> str:
    """Why it waits; empty when Slurm has not looked yet."""
    if reason == "BeginTime" and own is not None:
        # Slurm itself sets one, some minutes ahead, when it puts a job back.
        goes_on = own.phase == "requeued"
        why = "to go on in another run" if goes_on else "as when its node fails"
        return f"it was put back into the queue, {why}, and starts again in a few minutes"
    from scratchflow.cluster.slurm.reasons import explain  # few jobs wait, and a list loads little

    return "" if reason in {"", "None"} else explain(reason).text
