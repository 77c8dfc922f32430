"""What the records and Slurm say of submitted jobs together; what Slurm said of an end is written down.

One `squeue` for all of them, and one `sacct` for those that ended since somebody last looked.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from scratchflow.cluster.slurm.batch.queue import QueuedTask, queued_tasks
from scratchflow.cluster.slurm.states import state_of
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.slurm_end import ACCOUNTING_LAGS_S, Said
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.job import JobRecord, SlurmRecord, SlurmTask, TaskRecord
from scratchflow.model.times import epoch, iso_time
from scratchflow.store.checks.fresh import forget_listing
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.jobs.records import (
    forget_request,
    job_directory,
    read_slurm,
    read_tasks,
    write_job,
    write_slurm,
)
from scratchflow.store.jobs.saved_rest import with_saved_rests
from scratchflow.workspace.workspace import expand

if TYPE_CHECKING:
    from scratchflow.cluster.slurm.batch.accounting import Accounted

NEVER_CAME_S = 600.0
"""After so long, a job that neither Slurm nor its own record knows was never submitted."""
LISTINGS_LAG_S = 120.0
"""So long a network file system may show this host an old listing."""
# In place of a task's number, where Slurm tells none.
_REST = -1


class Looked(msgspec.Struct, frozen=True):
    """One job with all that is known of it. `answered` is off when Slurm did not answer."""

    record: JobRecord
    tasks: Mapping[int, TaskRecord]
    slurm: SlurmRecord
    queued: Mapping[int, QueuedTask]
    answered: bool = True
    damaged: Sequence[int] = ()
    """The tasks whose own record is there and cannot be read."""

    def state(self, task: int) -> str:
        """In Slurm's words, as far as there is one."""
        ended, queued, own = self.end(task), self.queued.get(task), self.tasks.get(task)
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

    def end(self, task: int) -> SlurmTask | None:
        """What Slurm said of the end of its last run; of a task that ran again since, nothing yet."""
        said, own = self.slurm.tasks.get(task), self.tasks.get(task)
        is_earlier = said is not None and own is not None and own.restarts > said.restarts
        return None if is_earlier else said

    def past(self, task: int) -> TaskRecord | None:
        """The task's own record as far as its runs are over: one that waits again has left what it could not save."""
        own = self.tasks.get(task)
        if own is None or self.is_over_of(task) or self.state(task) == "PENDING":
            return own
        return own.of_earlier_runs

    @property
    def is_over(self) -> bool:
        """Whether no task can do anything any more."""
        return all(map(self.is_over_of, self.record.task_numbers))

    def is_over_of(self, task: int) -> bool:
        """The same of one task."""
        state = self.state(task)
        return is_end(state) and state not in {"SUBMITTING", "UNKNOWN"}


def is_settled(one: Looked, now_s: float) -> bool:
    """Whether nothing of it can change any more: it has ended, Slurm has forgotten it, and what can be known is noted."""
    is_known = one.answered and one.record.number is not None and not one.queued
    return (
        is_known
        and one.is_over
        and not any(_needs_an_end(one, task, now_s) for task in one.record.task_numbers)
    )


@lru_cache(maxsize=64)  # asked several times for each task of an array
def is_end(state: str) -> bool:
    """Whether the task is over; also for our own words."""
    return state in {"NOT_SUBMITTED", "FORGOTTEN"} or state_of(state)[0] == "ended"


def has_failed(state: str) -> bool:
    """Whether the task is over and did not end well: those are what `--failed` means."""
    return is_end(state) and state != "COMPLETED"


def store_of(login: LoginHost) -> StoreDirectory:
    """Where the records of this profile's workspace are."""
    return find_place(expand(login.profile.store, login.environment), login.profile.workspace)


def look_at(
    login: LoginHost,
    place: StoreDirectory,
    records: Iterable[JobRecord],
    *,
    in_full: bool = False,
) -> list[Looked]:
    """All of them, after asking Slurm; without its answer what the records say, which is told.

    With `in_full` also what only accounting knows: memory, processor time, who cancelled it. Without, it is asked
    about what `squeue` does not tell, because its answer takes several times as long.
    """
    wanted = list(records)
    try:
        queued = queued_tasks(login.slurm) if wanted else []
        answered = True
    except SlurmUnreachable as error:
        login.caution("slurm.unreachable", f"{error}; what is shown is from the records alone")
        queued, answered = [], False
    numbers = {record.id: record.number for record in wanted}
    by_job: dict[str, dict[int, QueuedTask]] = {}
    for task in queued:
        # Another job may have been given the same name by hand.
        if numbers.get(task.job) in {None, task.number}:
            number = task.task if task.is_numbered else _REST
            by_job.setdefault(task.job, {})[number] = task
    looked = [
        _looked(place, record, by_job.get(record.id, {}), answered=answered) for record in wanted
    ]
    for one in looked:
        if one.damaged:
            _tell_damaged(login, place, one)
    if answered:
        looked = _completed(login, place, looked, in_full=in_full)
    return looked


def _looked(
    place: StoreDirectory, record: JobRecord, queued: Mapping[int, QueuedTask], *, answered: bool
) -> Looked:
    damaged: list[int] = []
    tasks, slurm = _tasks_with_notes(place, record, damaged), read_slurm(place, record.id)
    queued = _of_each_task(record, queued, {*tasks, *slurm.tasks, *damaged})
    numbered = _numbered(place, record, tasks, queued)
    return Looked(numbered, tasks, slurm, queued, answered, sorted(damaged))


def _of_each_task(
    record: JobRecord, queued: Mapping[int, QueuedTask], known: Collection[int]
) -> Mapping[int, QueuedTask]:
    """`queued`, where the one line that Slurm keeps of tasks which never started stands for each of those.

    They are those of the array that nothing is `known` of.
    """
    numbered = {number: task for number, task in queued.items() if number != _REST}
    rest = queued.get(_REST)
    if rest is None:
        return numbered
    whose = [task for task in record.task_numbers if task not in known] if record.is_array else [0]
    shared = {task: msgspec.structs.replace(rest, task=task) for task in whose}
    return {**shared, **numbered}


def _tasks_with_notes(
    place: StoreDirectory, record: JobRecord, damaged: list[int]
) -> dict[int, TaskRecord]:
    """The tasks' own records, with what other jobs have saved of them and they have not written down yet."""
    noted: list[int] = []
    tasks = read_tasks(place, record.id, damaged, noted)
    more = {
        number: with_saved_rests(place, record, tasks[number])
        for number in noted
        if number in tasks
    }
    return {**tasks, **more}


def _tell_damaged(login: LoginHost, place: StoreDirectory, one: Looked) -> None:
    """Slurm's word, the logs and what was collected do not depend on a task's own record."""
    first, name = one.damaged[0], one.record.number or one.record.id
    file = job_directory(place, one.record.id).task(first)
    more = f" and those of {len(one.damaged) - 1} more of its tasks" if one.damaged[1:] else ""
    again = f"{name}_{first}" if one.record.is_array else str(name)
    message = (
        f"job {name}: the record `{file}`{more} cannot be read, so only Slurm's word is shown of it;"
        f" what it printed and made is beside it, `scratchflow jobs rerun {again}` runs it again,"
        " and moving that file out of the store ends this warning"
    )
    login.caution("job.damaged", message)


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


def _completed(
    login: LoginHost, place: StoreDirectory, looked: list[Looked], *, in_full: bool
) -> list[Looked]:
    """With what Slurm says of tasks that ended since the last look."""
    now_s = time.time()
    numbers = {
        one.record.number
        for one in looked
        if one.record.number is not None
        and any(_is_to_be_asked(one, task, now_s, in_full=in_full) for task in _tasks(one))
    }
    accounted = _accounted(login, numbers)
    return [_with_ends(place, one, accounted, now_s) for one in looked]


def _accounted(login: LoginHost, numbers: Collection[int]) -> Accounted | None:
    """What accounting says of these jobs; None when there is nothing to ask."""
    if not numbers:
        return None
    from scratchflow.cluster.slurm.batch.accounting import accounted_tasks  # most lists do without

    return accounted_tasks(login.slurm, numbers)


def _tasks(one: Looked) -> list[int]:
    return one.record.task_numbers


def _is_to_be_asked(one: Looked, task: int, now_s: float, *, in_full: bool) -> bool:
    """Whether accounting is: of what `squeue` shows, only a failure may have been something else in truth."""
    queued, said = one.queued.get(task), one.end(task)
    if in_full and said is not None and not said.accounted:
        return queued is None or is_end(queued.state)
    is_shown = queued is not None and queued.state != "FAILED"
    return (in_full or not is_shown) and _needs_an_end(one, task, now_s)


def _needs_an_end(one: Looked, task: int, now_s: float) -> bool:
    """Slurm has it as ended or not at all, and not all that can be known of this end is noted yet."""
    queued, said = one.queued.get(task), one.end(task)
    if queued is not None and not is_end(queued.state):
        return False
    if said is None:
        return queued is not None or task not in one.slurm.unknown
    ended_s = epoch(said.end) or epoch(one.record.time) or 0
    return not said.accounted and now_s - ended_s < ACCOUNTING_LAGS_S


def _with_ends(
    place: StoreDirectory, one: Looked, accounted: Accounted | None, now_s: float
) -> Looked:
    record = one.record
    slurm = _slurm_with_ends(one, accounted, now_s)
    one = _read_anew(place, one, slurm, now_s)
    has_run = bool(one.tasks or one.damaged)
    is_lost = record.number is None and not has_run and not record.not_submitted
    if is_lost and now_s - (epoch(record.time) or 0) > NEVER_CAME_S:
        record = msgspec.structs.replace(record, not_submitted=iso_time(now_s) or "")
    done = Looked(record, one.tasks, slurm, one.queued, damaged=one.damaged)
    with suppress(ScratchflowError):  # a full store: it is asked again the next time
        if slurm != one.slurm:
            write_slurm(place, record.id, slurm)
        if record != one.record:
            write_job(place, record)
        # As long as Slurm knows it, it can be requeued, and needs what it was asked.
        if done.is_over and not one.queued:
            forget_request(place, record.id)
    return done


def _read_anew(place: StoreDirectory, one: Looked, slurm: SlurmRecord, now_s: float) -> Looked:
    """With the records of tasks that ended a moment ago on a node, and seem to have written nothing: a listing may be old."""
    ended = [said for task, said in slurm.tasks.items() if said.node and task not in one.tasks]
    if not any(now_s - (epoch(said.end) or 0) < LISTINGS_LAG_S for said in ended):
        return one
    forget_listing(job_directory(place, one.record.id).tasks)
    damaged: list[int] = []
    tasks = _tasks_with_notes(place, one.record, damaged)
    return msgspec.structs.replace(one, tasks=tasks, damaged=sorted(damaged))


def _slurm_with_ends(one: Looked, accounted: Accounted | None, now_s: float) -> SlurmRecord:
    ends, unknown = dict(one.slurm.tasks), set(one.slurm.unknown)
    shown = accounted.tasks if accounted else []
    by_task = {task.task: task for task in shown if task.job == one.record.id}
    exists = accounted is None or accounted.exists
    answered = accounted is None or accounted.answered
    is_old = now_s - (epoch(one.record.time) or 0) > ACCOUNTING_LAGS_S
    for task in _tasks(one):
        queued = one.queued.get(task)
        if queued is not None:
            unknown.discard(task)
        if queued is not None and not is_end(queued.state):
            ends.pop(task, None)  # it was requeued
            continue
        said = one.end(task)
        word = Said(said, queued, by_task.get(task))
        if exists and word.has_no_news:
            continue
        is_news = task in by_task and said is not None and not said.accounted
        if is_news or _needs_an_end(one, task, now_s):
            own = one.tasks.get(task)
            found = word.end(task, own.restarts if own else 0, now_s, is_all=not exists)
            if found is not None:
                ends[task] = found
            elif said is not None:
                ends[task] = msgspec.structs.replace(said, accounted=not exists)
            else:
                ends.pop(task, None)
                unknown |= {task} if is_old and answered else set()
    return SlurmRecord(ends, sorted(unknown))


def _own_state(own: TaskRecord) -> str:
    """What the task wrote itself, where Slurm says nothing any more."""
    if own.ended_by:
        return "CANCELLED"
    return "COMPLETED" if own.code == 0 else "FAILED"
