"""`jobs/<job>/tasks/<n>.rest/`: that another job has saved what an earlier run of a task had left on a node.

While the task runs, its record is its own to write: whoever saves something of it leaves a note, and the task takes
that over. Who reads the record before that adds what the notes say.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.job import JobRecord, TaskRecord
from scratchflow.store.directory import FILE_MODE, StoreDirectory, make_private_directory
from scratchflow.store.failures import store_errors
from scratchflow.store.jobs.outputs import outputs_of_tasks
from scratchflow.store.jobs.records import REST_KIND, job_directory


class SavedRest(msgspec.Struct, frozen=True):
    """On which node it was, the links in it that led out of the job's copy, and what of it could not be saved."""

    node: str
    links_out: list[str] = []
    failed: list[str] = []


def note_saved_rest(place: StoreDirectory, job: str, task: int, saved: SavedRest) -> None:
    """Leaves a note beside those of others, in place of one about the same node that names what could not be saved."""
    directory = _directory(place, job, task)
    before = read_saved_rests(place, job, task)
    with store_errors(directory):
        make_private_directory(directory)
        note = directory / f"{os.urandom(8).hex()}.json"
        replace_file(note, msgspec.json.encode(saved), mode=FILE_MODE)
        forget_saved_rests(
            file for file, old in before.items() if old.failed and old.node == saved.node
        )


def read_saved_rests(place: StoreDirectory, job: str, task: int) -> dict[Path, SavedRest]:
    """The notes that can be read, with their files; the oldest name first."""
    found: dict[Path, SavedRest] = {}
    directory = _directory(place, job, task)
    with suppress(FileNotFoundError):
        for name in sorted(os.listdir(directory)):
            with suppress(OSError, msgspec.DecodeError):
                file = directory / name
                found[file] = decoded(file.read_bytes(), SavedRest)
    return found


def with_saved_rests(place: StoreDirectory, record: JobRecord, task: TaskRecord) -> TaskRecord:
    """The record as the task will write it when it has taken over the notes that lie there for it now."""
    notes = read_saved_rests(place, record.id, task.task).values()
    if not notes:
        return task
    noted = with_notes(task, notes)
    if task.further_nodes:  # those say themselves what they have saved, when they are through
        return noted
    found = outputs_of_tasks(place, record, (task.task,))
    own = job_directory(place, record.id).outputs(task.task)
    aside = [one for one in found if not one.file.is_relative_to(own)]
    return msgspec.structs.replace(
        noted,
        collected_files=len(found),
        collected_bytes=sum(one.size_bytes for one in found),
        earlier_files=len(aside),
        earlier_bytes=sum(one.size_bytes for one in aside),
    )


def with_notes(task: TaskRecord, notes: Collection[SavedRest]) -> TaskRecord:
    """The record with what these notes say."""
    saved_on = {saved.node for saved in notes if not saved.failed}
    left_failed = task.left_failed | {saved.node: saved.failed for saved in notes}
    left_on = dict.fromkeys([*task.left_on, *(saved.node for saved in notes)])
    return msgspec.structs.replace(
        task,
        left_on=[node for node in left_on if node not in saved_on],
        left_failed={node: lines for node, lines in left_failed.items() if node not in saved_on},
        links_out=_together(task.links_out, notes),
    )


def _together(links: Iterable[str], notes: Iterable[SavedRest]) -> list[str]:
    more = (line for saved in notes for line in saved.links_out)
    return [*dict.fromkeys([*links, *more])]


def forget_saved_rests(files: Iterable[Path]) -> None:
    """Removes notes that were taken over."""
    for file in files:
        file.unlink(missing_ok=True)


def _directory(place: StoreDirectory, job: str, task: int) -> Path:
    return job_directory(place, job).tasks / f"{task}.{REST_KIND}"
