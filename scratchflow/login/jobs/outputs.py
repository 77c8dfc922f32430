"""`jobs outputs`, on the login host: what was collected from a job, listed and sent.

Slurm is asked only whether a task is over that has not said so: then the rest may be on its node.
"""

from __future__ import annotations

from collections.abc import Collection

from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.ends import name_of, rest_of
from scratchflow.login.jobs.find import known_jobs
from scratchflow.login.jobs.look import look_at, store_of
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
    directory = job_directory(place, record.id).all_outputs
    wanted = list(tasks) or record.task_numbers
    past, waiting, is_over = _past(login, place, record, wanted)
    with store_errors(directory):
        sha256 = send_outputs(found, login.emit) if asked.send else ""
    return OutputsShown(
        job=record.id,
        number=record.number,
        directory=str(directory),
        host=login.host,
        place=place_of(record),
        outputs=[
            OutputShown(path=printable(one.name), bytes=one.size_bytes, task=one.task)
            for one in found[:_LISTED]
        ],
        files=len(found),
        bytes=sum(one.size_bytes for one in found),
        tasks=wanted,
        is_array=record.is_array,
        sha256=sha256,
        unsaved_on=[*dict.fromkeys(node for own in past for node in own.unsaved_on)],
        rest=_rest(record, past, waiting),
        is_over=is_over,
    )


def _past(
    login: LoginHost, place: StoreDirectory, record: JobRecord, wanted: Collection[int]
) -> tuple[list[TaskRecord], list[int], bool]:
    """What these tasks' runs that are over have said, which tasks wait in the queue, and whether all are over."""
    tasks = read_tasks(place, record.id)
    own = [tasks[number] for number in wanted if number in tasks]
    if len(own) == len(wanted) and all(one.phase == "ended" for one in own):
        return own, [], True
    (looked,) = look_at(login, place, [record])
    own = [past for number in wanted if (past := looked.past(number))]
    is_over = all(map(looked.is_over_of, wanted))
    waiting = [number for number in wanted if looked.state(number) == "PENDING"]
    return own, waiting, is_over


def _rest(record: JobRecord, tasks: list[TaskRecord], waiting: Collection[int]) -> list[str]:
    """One line for each thing that is to be known, with the first tasks that it is about."""
    by_words: dict[str, list[str]] = {}
    for own in tasks:
        links = [f"left out: {line}" for line in own.links_out]
        unmatched = map(unmatched_in_words, own.unmatched)
        for words in filter(None, [rest_of(own, waits=own.task in waiting), *links, *unmatched]):
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
