"""What the records and Slurm say of submitted jobs together; what Slurm said of an end is written down.

One `squeue` for all of them, and one `sacct` for those that ended since somebody last looked.
"""

from __future__ import annotations

import pwd
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

import msgspec

from scratchflow.cluster.slurm.batch.accounting import AccountedTask, accounted_tasks
from scratchflow.cluster.slurm.batch.queue import QueuedTask, queued_tasks
from scratchflow.cluster.slurm.states import state_of
from scratchflow.login.host import LoginHost
from scratchflow.model.errors import ScratchflowError, SlurmUnreachable
from scratchflow.model.job import JobRecord, SlurmRecord, SlurmTask, TaskRecord
from scratchflow.model.times import epoch, iso_time
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.jobs.records import (
    forget_request,
    read_slurm,
    read_tasks,
    write_job,
    write_slurm,
)
from scratchflow.workspace.workspace import expand

NEVER_CAME_S = 600.0
"""After so long, a job that neither Slurm nor its own record knows was never submitted."""


class Looked(msgspec.Struct, frozen=True):
    """One job with all that is known of it. `answered` is off when Slurm did not answer."""

    record: JobRecord
    tasks: Mapping[int, TaskRecord]
    slurm: SlurmRecord
    queued: Mapping[int, QueuedTask]
    answered: bool = True

    def state(self, task: int) -> str:
        """In Slurm's words, as far as there is one."""
        ended, queued, own = self.slurm.tasks.get(task), self.queued.get(task), self.tasks.get(task)
        if queued is not None and not is_end(queued.state):
            return queued.state
        if ended is not None:
            return ended.state
        if own is not None and own.phase == "ended":
            return _own_state(own)
        if not self.answered:
            return "UNKNOWN"
        if own is None and self.record.number is None:
            return "NOT_SUBMITTED" if self.record.not_submitted else "SUBMITTING"
        return "FORGOTTEN"

    @property
    def is_over(self) -> bool:
        """Whether no task can do anything any more."""
        open_states = {"SUBMITTING", "UNKNOWN"}
        return all(
            is_end(state) and state not in open_states
            for state in map(self.state, self.record.task_numbers)
        )


def is_end(state: str) -> bool:
    """Whether the task is over; also for our own words."""
    return state in {"NOT_SUBMITTED", "FORGOTTEN"} or state_of(state)[0] == "ended"


def store_of(login: LoginHost) -> StoreDirectory:
    """Where the records of this profile's workspace are."""
    return find_place(expand(login.profile.store, login.environment), login.profile.workspace)


def look_at(login: LoginHost, place: StoreDirectory, records: Iterable[JobRecord]) -> list[Looked]:
    """All of them, after asking Slurm; without its answer what the records say, which is told."""
    wanted = list(records)
    try:
        queued = queued_tasks(login.slurm) if wanted else []
        answered = True
    except SlurmUnreachable as error:
        login.caution("slurm.unreachable", f"{error}; what is shown is from the records alone")
        queued, answered = [], False
    by_job: dict[str, dict[int, QueuedTask]] = {}
    for task in queued:
        by_job.setdefault(task.job, {})[task.task] = task
    looked = [
        _looked(place, record, by_job.get(record.id, {}), answered=answered) for record in wanted
    ]
    if answered:
        looked = _completed(login, place, looked)
    return looked


def _looked(
    place: StoreDirectory, record: JobRecord, queued: Mapping[int, QueuedTask], *, answered: bool
) -> Looked:
    tasks, slurm = read_tasks(place, record.id), read_slurm(place, record.id)
    return Looked(_numbered(place, record, tasks, queued), tasks, slurm, queued, answered)


def _numbered(
    place: StoreDirectory,
    record: JobRecord,
    tasks: Mapping[int, TaskRecord],
    queued: Mapping[int, QueuedTask],
) -> JobRecord:
    """With Slurm's number, when the answer of `sbatch` was lost and the job is there all the same."""
    if record.number is not None:
        return record
    numbers = [task.number for task in queued.values()]
    if not record.is_array:
        numbers += [task.job_id for task in tasks.values() if task.job_id is not None]
    if not numbers:
        return record
    found = msgspec.structs.replace(record, number=min(numbers), not_submitted="")
    with suppress(ScratchflowError):  # it is found again the next time
        write_job(place, found)
    return found


def _completed(login: LoginHost, place: StoreDirectory, looked: list[Looked]) -> list[Looked]:
    """With what Slurm says of tasks that ended since the last look."""
    numbers = {
        one.record.number
        for one in looked
        if one.record.number is not None and any(_is_new_end(one, task) for task in _tasks(one))
    }
    accounted: dict[tuple[str, int], AccountedTask] = {
        (task.job, task.task): task for task in accounted_tasks(login.slurm, numbers)
    }
    return [_with_ends(place, one, accounted) for one in looked]


def _tasks(one: Looked) -> list[int]:
    return one.record.task_numbers


def _is_new_end(one: Looked, task: int) -> bool:
    """Not noted yet, and Slurm has it as ended or not at all."""
    queued = one.queued.get(task)
    return task not in one.slurm.tasks and (queued is None or is_end(queued.state))


def _with_ends(
    place: StoreDirectory, one: Looked, accounted: Mapping[tuple[str, int], AccountedTask]
) -> Looked:
    record = one.record
    ends = dict(one.slurm.tasks)
    for task in _tasks(one):
        queued = one.queued.get(task)
        if queued is not None and not is_end(queued.state):
            ends.pop(task, None)  # it was requeued
        elif task not in ends:
            found = _end(task, queued, accounted.get((record.id, task)))
            if found is not None:
                ends[task] = found
    is_lost = record.number is None and not one.tasks and not record.not_submitted
    if is_lost and time.time() - (epoch(record.time) or 0) > NEVER_CAME_S:
        record = msgspec.structs.replace(record, not_submitted=iso_time(time.time()) or "")
    done = Looked(record, one.tasks, SlurmRecord(ends), one.queued)
    with suppress(ScratchflowError):  # a full store: it is asked again the next time
        if ends != one.slurm.tasks:
            write_slurm(place, record.id, done.slurm)
        if record != one.record:
            write_job(place, record)
        if done.is_over:
            forget_request(place, record.id)
    return done


def _end(task: int, queued: QueuedTask | None, accounted: AccountedTask | None) -> SlurmTask | None:
    if accounted is not None and is_end(accounted.state):
        return SlurmTask(
            task=task,
            job_id=accounted.job_id,
            state=accounted.state,
            reason=accounted.reason,
            node=accounted.node,
            start=iso_time(accounted.start),
            end=iso_time(accounted.end),
            code=accounted.code,
            signal=accounted.signal,
            cancelled_by=_user(accounted.cancelled_by),
            peak_memory_bytes=accounted.peak_memory_bytes,
            cpu_s=accounted.cpu_s,
            asked_memory=accounted.asked_memory,
            accounted=True,
        )
    if queued is None:
        return None
    return SlurmTask(
        task=task,
        job_id=queued.job_id,
        state=queued.state,
        reason=queued.reason,
        node=queued.node,
        start=iso_time(queued.start),
        end=iso_time(queued.end),
    )


def _own_state(own: TaskRecord) -> str:
    """What the task wrote itself, where Slurm says nothing any more."""
    if own.ended_by:
        return "CANCELLED"
    return "COMPLETED" if own.code == 0 else "FAILED"


def _user(number: int | None) -> str:
    if number is None:
        return ""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
