"""What was collected from a job, as a list of files, and where each goes when it is taken elsewhere."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX, fsync_directory, is_there
from scratchflow.model.job import JobRecord
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.jobs.records import job_directory


class Output(msgspec.Struct, frozen=True):
    """A file or link. `name` is its path beneath the directory that it is taken to."""

    name: str
    file: Path
    task: int
    size_bytes: int
    is_link: bool = False


def place_of(record: JobRecord) -> str:
    """The directory for this job's files, beneath the one that was named: two jobs never mix."""
    return f"job-{record.number or record.id}"


def keep_aside(outputs: Path, run: int) -> bool:
    """Moves what the earlier run of this number saved out of the way of the next one; whether there was anything.

    `0` becomes `0@run-1`, `0@node-2` becomes `0@node-2.run-1`. A name that is taken stays as it is.
    """
    if not is_there(outputs):
        return False
    sign = "." if "@" in outputs.name else "@"
    names = (outputs.with_name(f"{outputs.name}{sign}run-{number}") for number in count(run))
    os.rename(outputs, next(name for name in names if not is_there(name)))
    fsync_directory(outputs.parent)
    return True


def outputs_of_tasks(
    place: StoreDirectory, record: JobRecord, tasks: Collection[int] = ()
) -> list[Output]:
    """All of them, or those of these tasks, in the order of tasks and names."""
    top = job_directory(place, record.id).all_outputs
    with store_errors(top):
        try:
            names = os.listdir(top)
        except FileNotFoundError:
            return []
        numbered = sorted((int(number), name) for name in names if (number := _task(name)))
        return [
            Output(
                f"{name}/{path}" if _has_own(record, name) else path,
                top / name / path,
                number,
                size,
                is_link,
            )
            for number, name in numbered
            if not tasks or number in tasks
            for path, size, is_link in files_beneath(top / name)
        ]


def _task(name: str) -> str:
    """The number in `3`, `3@node-2` and `3@run-1`; empty for any other name."""
    number = name.partition("@")[0]
    return number if number.isascii() and number.isdigit() else ""


def _has_own(record: JobRecord, name: str) -> bool:
    """Whether files of this directory need one of their own: what the only task's first node made does not."""
    return record.is_array or name != "0"


def files_beneath(directory: Path) -> Iterator[tuple[str, int, bool]]:
    """What counts as collected, in order: its path from there on, the size of its content, and whether it is a link."""
    for above, directories, names in os.walk(directory):
        directories.sort()
        links = [name for name in directories if os.path.islink(os.path.join(above, name))]
        for name in sorted([*names, *links]):
            if name.startswith(TEMP_PREFIX):  # somebody is copying it, or was killed
                continue
            path = os.path.join(above, name)
            try:
                found = os.lstat(path)
            except FileNotFoundError:  # the job is being removed
                continue
            is_link = stat.S_ISLNK(found.st_mode)
            if stat.S_ISREG(found.st_mode) or is_link:
                size = 0 if is_link else found.st_size
                yield os.path.relpath(path, directory), size, is_link
