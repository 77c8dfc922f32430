"""`jobs outputs`, on the login host: what was collected from a job, listed and sent.

Slurm is asked only whether a task is over that has not said so: then the rest may be on its node.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.ends import has_not_begun, name_of, rest_of
from scratchflow.login.jobs.find import known_jobs
from scratchflow.login.jobs.look import Looked, look_at, store_of
from scratchflow.model.errors.jobs import JobNotReady
from scratchflow.model.job import JobRecord, TaskRecord, unmatched_in_words
from scratchflow.model.requests import JobOutputs
from scratchflow.model.results.jobs import OutputShown, OutputsShown
from scratchflow.model.text import printable
from scratchflow.node.job.outputs import send_outputs
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.jobs.outputs import outputs_of_tasks, place_of
from scratchflow.store.jobs.records import job_directory, read_tasks

_LISTED = 1000
_RESTS, _NAMED = 10, 5


def show_outputs(login: LoginHost, asked: JobOutputs) -> OutputsShown:
    """Lists them; with `send` the files follow as `Data` events."""
    place = store_of(login)
    record, named = known_jobs(login, place).find(asked.wanted)
    tasks = asked.tasks or (() if named is None else (named,))
    _require_tasks(record, tasks)
    forget_old_listing(place)
    found = outputs_of_tasks(place, record, tasks)
    where = job_directory(place, record.id)
    own = [one for one in found if one.file.is_relative_to(where.outputs(0))]
    # Of an array, and where only further nodes or earlier runs made any, each path names its part of it.
    is_beneath_own = bool(own) and not record.is_array
    directory = where.outputs(0) if is_beneath_own else where.all_outputs
    wanted = list(tasks) or record.task_numbers
    past = _past(login, place, record, wanted)
    with store_errors(directory):
        sha256 = send_outputs(found, login.emit) if asked.send else ""
    return OutputsShown(
        job=record.id,
        number=record.number,
        directory=str(directory),
        host=login.host,
        place=place_of(record),
        is_beside=is_beneath_own and len(own) < len(found),
        outputs=[
            OutputShown(
                path=printable(one.name), bytes=one.size_bytes, task=one.task, is_link=one.is_link
            )
            for one in found[:_LISTED]
        ],
        files=len(found),
        bytes=sum(one.size_bytes for one in found),
        tasks=wanted,
        is_array=record.is_array,
        sha256=sha256,
        unsaved_on=[*dict.fromkeys(node for own in past.tasks for node in own.unsaved_on)],
        rest=_rest(record, past, has_files=bool(found)),
        is_over=past.is_over,
    )


class _Past(msgspec.Struct, frozen=True):
    """What tasks' runs that are over have said, which tasks wait in the queue, and whether all are over."""

    tasks: list[TaskRecord]
    waiting: Collection[int] = ()
    is_over: bool = True
    not_begun: Mapping[int, str] = {}
    """Tasks whose command was never run, with how that is told."""


def _past(
    login: LoginHost, place: StoreDirectory, record: JobRecord, wanted: Collection[int]
) -> _Past:
    tasks = read_tasks(place, record.id)
    own = [tasks[number] for number in wanted if number in tasks]
    if len(own) == len(wanted) and all(one.phase == "ended" for one in own):
        failed = {one.task: _not_run(record) for one in own if one.error and one.code is None}
        return _Past(own, not_begun=failed)
    (looked,) = look_at(login, place, [record])
    return _Past(
        [past for number in wanted if (past := looked.past(number))],
        [number for number in wanted if looked.state(number) == "PENDING"],
        all(map(looked.is_over_of, wanted)),
        {number: words for number in wanted if (words := _not_begun(looked, number))},
    )


def _not_begun(looked: Looked, task: int) -> str:
    """Why there can be nothing yet, or ever; empty when the command was run, or nobody knows."""
    own, state = looked.tasks.get(task), looked.state(task)
    is_unrun = own is not None and own.phase == "ended" and own.error and own.code is None
    if task in looked.damaged or state in {"UNKNOWN", "COMPLETED"}:
        return ""
    if is_unrun or (has_not_begun(own) and looked.is_over_of(task)):
        return _not_run(looked.record)
    if not has_not_begun(own):
        return ""
    is_waiting = state in {"PENDING", "SUBMITTING"}
    where = "it waits in the queue" if is_waiting else "its files are being brought to its node"
    return f"its command has not begun: {where}"


def _not_run(record: JobRecord) -> str:
    return f"its command was not run; `scratchflow jobs show {name_of(record)}` says why"


def _rest(record: JobRecord, past: _Past, *, has_files: bool) -> list[str]:
    """One line for each thing that is to be known, with the first tasks that it is about."""
    by_words: dict[str, list[str]] = {}
    for task, words in past.not_begun.items() if not has_files else ():
        by_words.setdefault(words, []).append(name_of(record, task))
    for own in past.tasks:
        links = [f"left out: {line}" for line in own.links_out]
        unmatched = map(unmatched_in_words, own.unmatched)
        left = rest_of(own, waits=own.task in past.waiting)
        for words in filter(None, [left, *links, *unmatched]):
            by_words.setdefault(words, []).append(name_of(record, own.task))
    return [f"job {_some(names)}: {words}" for words, names in by_words.items()][:_RESTS]


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def _require_tasks(record: JobRecord, tasks: tuple[int, ...]) -> None:
    for task in tasks:
        if task not in record.task_numbers:
            name = record.number or record.id
            next_step = f"`scratchflow jobs show {name}` lists them"
            raise JobNotReady(problem=f"job {name} has no task {task}", next_step=next_step)
