"""`logs`: what a task printed. While it runs it is read on its node by a step: a shared file system may lag by minutes."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from itertools import chain

import msgspec

from scratchflow.agent.request import asking
from scratchflow.cluster.slurm.batch.queue import QueuedTask
from scratchflow.cluster.slurm.hostlist import expand
from scratchflow.experiments.values import write_value
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.ends import has_not_begun, name_of, rest_of, why
from scratchflow.login.jobs.find import known_jobs
from scratchflow.login.jobs.list import waits_for
from scratchflow.login.jobs.look import Looked, has_failed, is_end, look_at, store_of
from scratchflow.model.ages import age
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.allocation import AllocationEnded
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.jobs import JobNotReady
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.events import Data, Event
from scratchflow.model.job import JobRecord, SlurmTask, TaskRecord
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import ReadLogs, TailLogs
from scratchflow.model.results.jobs import LogsShown
from scratchflow.model.times import epoch
from scratchflow.node.job.tail import Reader
from scratchflow.node.progress import Notifier
from scratchflow.process.waiting import looks
from scratchflow.reach.node import node_transport
from scratchflow.reach.node_agent import ask_node
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.checks.writable import write_failure
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.jobs.records import job_directory, read_task

ASK_SLURM_S = 10.0
"""How often Slurm is asked while a job waits."""
END_S = 30.0
"""How long the record of an end may take from the node to this host."""


def read_logs(login: LoginHost, asked: ReadLogs) -> LogsShown:
    """Sends it as `Data` events; with `follow` until the task ends."""
    place = store_of(login)
    record, named = known_jobs(login, place).find(asked.wanted)
    (looked,) = look_at(login, place, [record])
    task = _task(looked, asked, named)
    is_chosen = asked.task is not None or named is not None
    if looked.record.is_array:
        login.remark(_which(looked.record, task))
    others = "" if is_chosen else _others(looked, task, failed=asked.failed)
    if others and asked.follow:
        login.remark(others)
    shown = _shown(login, place, looked, task, asked)
    if others and not asked.follow:  # beneath what may be many lines
        login.remark(others)
    return shown


def _which(record: JobRecord, task: int) -> str:
    """Which task of an array it is, with the parameters that it was given."""
    pairs = " ".join(f"{key}={write_value(value)}" for key, value in record.tasks[task].items())
    return f"task {task} of job {record.number or record.id}" + (f": {pairs}" if pairs else "")


def _shown(
    login: LoginHost, place: StoreDirectory, looked: Looked, task: int, asked: ReadLogs
) -> LogsShown:
    record = looked.record
    reading = _Reading(login, place, record, task, asked)
    while True:
        state, queued = looked.state(task), looked.queued.get(task)
        if queued is not None and state == "RUNNING" and queued.node:
            ended = reading.on_node(queued)
            # One that was ended from outside may have been put back into the queue: Slurm tells in a while.
            if not asked.follow or (ended and not reading.was_ended_from_outside()):
                return reading.done("RUNNING", ended=ended)
        elif is_end(state) or not asked.follow:
            if state == "PENDING":
                reading.say_rest(looked.past(task))
            done = reading.done(state, ended=is_end(state), said=looked.end(task))
            if not is_end(state) and state != "COMPLETING":
                # Beneath what an earlier run of it may have printed.
                login.remark(_ways_to_wait(looked, task))
            return done
        else:
            reading.say_once(f"{_waiting(looked, task)}; waiting for it")
        login.clock.sleep(ASK_SLURM_S)
        (looked,) = look_at(login, place, [record])


def _ways_to_wait(looked: Looked, task: int) -> str:
    name = name_of(looked.record, task)
    how = f"`scratchflow logs -f {name}` waits for it and shows what it prints"
    return f"{_waiting(looked, task)}; {how}, `scratchflow jobs show {name}` says more"


def _waiting(looked: Looked, task: int) -> str:
    """That it has not begun to run, or has stopped for now, and why."""
    state, queued = looked.state(task), looked.queued.get(task)
    name = name_of(looked.record, task)
    if state in {"UNKNOWN", "SUBMITTING"}:
        return f"job {name}: {why(looked.record, task, state, looked.tasks.get(task), None)}"
    reason = queued.reason if queued is not None and state == "PENDING" else ""
    words = waits_for(reason, looked.tasks.get(task))
    because = f" ({words})" if words else ""
    return f"job {name} is {state.lower()}{because}"


def _others(looked: Looked, task: int, *, failed: bool) -> str:
    """That there are further tasks, and how to see what they printed; empty for the only one."""
    tasks, name = looked.record.task_numbers, looked.record.number or looked.record.id
    if len(tasks) == 1:
        return ""
    states = Counter(looked.state(one) for one in tasks).most_common()
    counts = ", ".join(f"{count} {state}" for state, count in states)
    another = next(one for one in reversed(tasks) if one != task)
    has_failures = any(has_failed(state) for state, _ in states)
    first_failed = f", `scratchflow logs --failed {name}` the first that failed"
    return (
        f"this is task {task}, one of {len(tasks)} ({counts}); `scratchflow logs {name}_{another}` shows another"
        f"{first_failed if has_failures and not failed else ''}"
    )


def _task(looked: Looked, asked: ReadLogs, named: int | None) -> int:
    tasks = looked.record.task_numbers
    name = looked.record.number or looked.record.id
    if asked.failed:
        states = {task: looked.state(task) for task in tasks}
        failed = [task for task, state in states.items() if has_failed(state)]
        if not failed:
            next_step = f"`scratchflow jobs show {name}` tells the state of each"
            raise JobNotReady(problem=f"no task of job {name} has failed", next_step=next_step)
        return failed[0]
    wanted = asked.task if asked.task is not None else named
    if wanted is None:
        return tasks[0]
    if wanted not in tasks:
        next_step = f"`scratchflow jobs show {name}` lists them"
        raise JobNotReady(problem=f"job {name} has no task {wanted}", next_step=next_step)
    return wanted


class _Reading:
    """How far the two files were read, wherever that was."""

    def __init__(
        self,
        login: LoginHost,
        place: StoreDirectory,
        record: JobRecord,
        task: int,
        asked: ReadLogs,
    ) -> None:
        self._login, self._place, self._record = login, place, record
        self._task, self._asked = task, asked
        where = job_directory(place, record.id)
        self._output = Reader(where.output(task), 0)
        self._error = Reader(where.output(task, error=True), 0, is_error=True)
        self._said = ""

    def say_once(self, message: str) -> None:
        if message != self._said:
            self._login.remark(message)
            self._said = message

    def on_node(self, queued: QueuedTask) -> bool:
        """Reads as a step of the job; whether the task is over. A step that fails leaves the rest to shared storage."""
        # Of several nodes the first has the batch script, and what it prints.
        first = expand(queued.node)[:1]
        held = RunningAllocation(
            job_id=queued.job_id, name=queued.name, state="running", nodes=first
        )
        arguments = TailLogs(
            job=self._record.id,
            task=self._task,
            output_from=self._output.position,
            error_from=self._error.position,
            follow=self._asked.follow,
            only_error=self._asked.only_error,
        )
        login = self._login
        request = asking(
            "job tail",
            msgspec.to_builtins(arguments),
            profile_name=login.settings.name,
            profile=to_plain(login.profile),
        )
        try:
            node = node_transport(held, login.settings.name, login.environment)
            data = ask_node(node, request, self._count, login.settings, login.slurm)
        except ScratchflowError as error:
            if self._has_ended():  # its step ended with it
                return True
            # What became of a job that ended under us, or was queued again, Slurm tells at the next look.
            if not isinstance(error, AllocationEnded):
                self.say_once(
                    f"`{queued.node}` could not be asked: {error}; reading from shared storage"
                )
            self._from_storage()
            return False
        return bool(data["ended"])

    def done(self, state: str, *, ended: bool, said: SlurmTask | None = None) -> LogsShown:
        """Reads what is left, from shared storage, and tells how it ended."""
        code = None
        if ended:
            for _ in looks(END_S, 1.0, self._login.clock):
                if self._has_ended() or is_end(state):
                    break
            own = read_task(self._place, self._record.id, self._task)
            code = own.code if own else None
            if not is_end(state):
                state = _ended_state(code, own.ended_by if own else "")
        self._from_storage()
        self._tell_cut(state)
        if ended and code is None:
            self._tell_why(state, said)
        if ended:
            self._tell_rest(said)
        return LogsShown(
            job=self._record.id,
            task=self._task,
            state=state,
            code=code,
            followed=self._asked.follow,
        )

    def _tell_cut(self, state: str) -> None:
        """That what it printed may end too early: the store was full, as its task saw it, or is or may have been so."""
        own = read_task(self._place, self._record.id, self._task)
        if own is None:
            return
        name = name_of(self._record, self._task)
        if own.full_since:
            when = age(max(0.0, time.time() - (epoch(own.full_since) or 0)))
            message = f"the store was full {when}, while it ran: what it printed from then on may be missing"
            self._login.caution("job.output_cut", f"job {name}: {message}")
        elif own.phase != "ended" and isinstance(failure := self._write_failure(), NoSpace):
            message = f"{failure}; what it prints is not written while that is so"
            self._login.caution("job.output_cut", f"job {name}: {message}")
        elif own.phase == "running" and state in {"FAILED", "COMPLETED"} and not own.put_back:
            message = "the store took no word of its end: what it printed last may be missing"
            self._login.caution("job.output_cut", f"job {name}: {message}")

    def _write_failure(self) -> ScratchflowError | None:
        return write_failure(job_directory(self._place, self._record.id).logs)

    def _tell_why(self, state: str, said: SlurmTask | None) -> None:
        """Of a command that did not run, or has no exit code, what it printed tells nothing of its end."""
        own = read_task(self._place, self._record.id, self._task)
        file = job_directory(self._place, self._record.id).task(self._task)
        is_damaged = own is None and os.path.lexists(file)
        words = why(self._record, self._task, state, own, said, is_damaged=is_damaged)
        # Without Slurm's word, the record of its beginning may be on its way to this host.
        not_begun = said is not None and not is_damaged and has_not_begun(own)
        has_no_end = own is not None and (bool(own.error) or own.phase != "ended")
        if words and (state != "FAILED" or not_begun or has_no_end):
            self.say_once(f"job {name_of(self._record, self._task)}: {words}")

    def _tell_rest(self, said: SlurmTask | None) -> None:
        """What it made and is not saved, of a task that is over for certain."""
        own = read_task(self._place, self._record.id, self._task)
        if own is None or not (own.phase == "ended" or said is not None):
            return
        self.say_rest(own)
        if own.links_out:
            more = f", and {len(own.links_out) - 1} more such links" if own.links_out[1:] else ""
            name = name_of(self._record, self._task)
            self._login.remark(f"job {name}: left out: {own.links_out[0]}{more}")
        for line in own.removed:
            self._login.remark(f"job {name_of(self._record, self._task)} removed {line}")

    def say_rest(self, own: TaskRecord | None) -> None:
        """What its runs have left on nodes."""
        if own is not None and (words := rest_of(own)):
            lines = own.not_collected or [*chain(*own.left_failed.values())]
            first = f"not saved: {lines[0]}; " if lines else ""
            self._login.remark(f"job {name_of(self._record, self._task)}: {first}{words}")

    def was_ended_from_outside(self) -> bool:
        """By a signal of Slurm's: it was cancelled, preempted or requeued, or its time was up.

        The command may have got it, and ended, before the job itself did.
        """
        own = read_task(self._place, self._record.id, self._task)
        return own is not None and (bool(own.ended_by) or own.code == 128 + signal.SIGTERM)

    def _has_ended(self) -> bool:
        own = read_task(self._place, self._record.id, self._task)
        return own is not None and own.phase == "ended"

    def _from_storage(self) -> None:
        forget_old_listing(self._place)
        notify = Notifier(self._login.emit)
        for reader in [self._error] if self._asked.only_error else [self._output, self._error]:
            reader.send(notify)

    def _count(self, event: Event) -> None:
        if isinstance(event, Data):
            reader = self._error if event.is_error else self._output
            reader.position += len(event.content)
        self._login.emit(event)


def _ended_state(code: int | None, ended_by: str) -> str:
    if ended_by:
        return "CANCELLED"
    return "COMPLETED" if code == 0 else "FAILED"
