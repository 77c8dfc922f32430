"""`jobs outputs`, on the login host: what was collected from a job, listed and sent. Slurm has no part in it."""

from __future__ import annotations

from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.find import known_jobs
from scratchflow.login.jobs.look import store_of
from scratchflow.model.errors.jobs import JobNotReady
from scratchflow.model.job import JobRecord
from scratchflow.model.requests import JobOutputs
from scratchflow.model.results.jobs import OutputShown, OutputsShown
from scratchflow.model.text import printable
from scratchflow.node.job.outputs import send_outputs
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.failures import store_errors
from scratchflow.store.jobs.outputs import outputs_of_tasks, place_of
from scratchflow.store.jobs.records import job_directory

_LISTED = 1000


def show_outputs(login: LoginHost, asked: JobOutputs) -> OutputsShown:
    """Lists them; with `send` the files follow as `Data` events."""
    place = store_of(login)
    record, named = known_jobs(login, place).find(asked.wanted)
    tasks = asked.tasks or (() if named is None else (named,))
    _require_tasks(record, tasks)
    forget_old_listing(place)
    found = outputs_of_tasks(place, record, tasks)
    directory = job_directory(place, record.id).all_outputs
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
        tasks=list(tasks) or record.task_numbers,
        is_array=record.is_array,
        sha256=sha256,
    )


def _require_tasks(record: JobRecord, tasks: tuple[int, ...]) -> None:
    for task in tasks:
        if task not in record.task_numbers:
            name = record.number or record.id
            next_step = f"`scratchflow jobs show {name}` lists them"
            raise JobNotReady(problem=f"job {name} has no task {task}", next_step=next_step)
