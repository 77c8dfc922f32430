"""`jobs/<job>/tasks/<n>.rest/`: that another job has saved what an earlier run of a task had left on a node.

While the task runs, its record is its own to write: whoever saves something of it leaves a note, and the task takes
that over.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.store.directory import FILE_MODE, StoreDirectory, make_private_directory
from scratchflow.store.failures import store_errors
from scratchflow.store.jobs.records import job_directory


class SavedRest(msgspec.Struct, frozen=True):
    """On which node it was, and the links in it that led out of the job's copy."""

    node: str
    links_out: list[str] = []


def note_saved_rest(place: StoreDirectory, job: str, task: int, saved: SavedRest) -> None:
    """Leaves a note beside those of others."""
    directory = _directory(place, job, task)
    with store_errors(directory):
        make_private_directory(directory)
        note = directory / f"{os.urandom(8).hex()}.json"
        replace_file(note, msgspec.json.encode(saved), mode=FILE_MODE)


def read_saved_rests(place: StoreDirectory, job: str, task: int) -> dict[Path, SavedRest]:
    """The notes that can be read, with their files; the oldest name first."""
    found: dict[Path, SavedRest] = {}
    directory = _directory(place, job, task)
    with suppress(FileNotFoundError):
        for name in sorted(os.listdir(directory)):
            with suppress(OSError, msgspec.DecodeError):
                file = directory / name
                found[file] = msgspec.json.decode(file.read_bytes(), type=SavedRest)
    return found


def forget_saved_rests(files: Iterable[Path]) -> None:
    """Removes notes that were taken over."""
    for file in files:
        file.unlink(missing_ok=True)


def _directory(place: StoreDirectory, job: str, task: int) -> Path:
    return job_directory(place, job).tasks / f"{task}.rest"
