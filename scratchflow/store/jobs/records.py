"""The records of submitted jobs, `<store>/<workspace>/jobs/<job>/`; each file has one writer, so no lock is needed.

`job.json` is the login host's, `tasks/<n>.json` the task's own, `slurm.json` whoever looks: two that look write the same.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.job import JobRecord, SlurmRecord, TaskRecord, is_job_id
from scratchflow.store.directory import (
    FILE_MODE,
    JOBS_NAME,
    StoreDirectory,
    make_private_directory,
)
from scratchflow.store.failures import store_errors

_RECORD = "job.json"
_SLURM = "slurm.json"
_TASKS = "tasks"
_LOGS = "logs"
_OUTPUTS = "outputs"
REST_KIND = "rest"
_LIMIT_BYTES = 64 << 20
_PIECE_BYTES = 1 << 20

R = TypeVar("R")


class JobDirectory(msgspec.Struct, frozen=True):
    """The directory of one job, and the names inside it. Touches no disk."""

    path: Path

    @property
    def record(self) -> Path:
        """`job.json`."""
        return self.path / _RECORD

    @property
    def slurm(self) -> Path:
        """`slurm.json`."""
        return self.path / _SLURM

    @property
    def script(self) -> Path:
        """What `sbatch` gets."""
        return self.path / "script.sh"

    @property
    def request(self) -> Path:
        """What the agent in the job is asked; it holds the profile, and is removed when the job is over."""
        return self.path / "request.json"

    @property
    def logs(self) -> Path:
        """The directory of what the tasks print."""
        return self.path / _LOGS

    @property
    def agent_log(self) -> Path:
        """What the agents of all tasks said."""
        return self.logs / "agent.jsonl"

    @property
    def tasks(self) -> Path:
        """The directory of what the tasks write down."""
        return self.path / _TASKS

    def task(self, number: int) -> Path:
        """`tasks/<n>.json`."""
        return self.tasks / f"{number}.json"

    def present(self, number: int) -> Path:
        """Which files the patterns of what is collected matched, when it was last looked."""
        return self.path / _TASKS / f"{number}.present"

    def output(self, number: int, *, error: bool = False) -> Path:
        """What a task printed."""
        return self.logs / f"{number}.{'err' if error else 'out'}"

    @property
    def all_outputs(self) -> Path:
        """What was collected from all tasks."""
        return self.path / _OUTPUTS

    def outputs(self, number: int, further_node: str = "") -> Path:
        """What was collected from a task; what a further node of it has made lies beside that."""
        name = f"{number}@{further_node}" if further_node else str(number)
        if "/" in name:
            raise ValueError(f"not a node: {further_node!r}")
        return self.all_outputs / name


def job_directory(place: StoreDirectory, job: str) -> JobDirectory:
    """Where the record of this job is, or will be."""
    if not is_job_id(job):
        raise ValueError(f"not a job: {job!r}")
    return JobDirectory(place.directory / JOBS_NAME / job)


def make_job_directory(place: StoreDirectory, record: JobRecord) -> JobDirectory:
    """Makes the directory of a new job, with its record in it, durably."""
    where = job_directory(place, record.id)
    with store_errors(where.path):
        make_private_directory(where.path.parent)
        for directory in (where.path, where.logs, where.path / _TASKS, where.path / _OUTPUTS):
            make_private_directory(directory)
    write_job(place, record)
    return where


def write_job(place: StoreDirectory, record: JobRecord) -> None:
    """Replaces the record: readers see the old one or the new one."""
    _write(job_directory(place, record.id).record, record)


def write_task(place: StoreDirectory, job: str, record: TaskRecord) -> None:
    """Replaces the record of one task."""
    _write(job_directory(place, job).task(record.task), record)


def write_slurm(place: StoreDirectory, job: str, record: SlurmRecord) -> None:
    """Replaces what Slurm said."""
    _write(job_directory(place, job).slurm, record)


def write_present(
    place: StoreDirectory, job: str, number: int, modes: Mapping[str, int | None]
) -> None:
    """Notes which files a task has, with their modes, so that its next run starts with these and no others.

    Each path stands alone, as earlier versions read it, and where its mode is known again as `/644/PATH`.
    """
    file = job_directory(place, job).present(number)
    known = {path: mode for path, mode in modes.items() if mode is not None}
    words = [*sorted(modes), *(f"/{known[path]:o}/{path}" for path in sorted(known))]
    content = b"".join(os.fsencode(word) + b"\0" for word in words)
    with store_errors(file.parent):
        with suppress(OSError):
            if file.read_bytes() == content:
                return
        replace_file(file, content, mode=FILE_MODE)


def read_present(place: StoreDirectory, job: str, number: int) -> dict[str, int | None] | None:
    """The same back; None when nobody has noted it, and for modes that earlier versions did not note."""
    file = job_directory(place, job).present(number)
    with store_errors(file.parent):
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
    words = [os.fsdecode(word) for word in content.split(b"\0") if word]
    found: dict[str, int | None] = dict.fromkeys(word for word in words if word[0] != "/")
    for mode, _, path in (word[1:].partition("/") for word in words if word[0] == "/"):
        with suppress(ValueError):  # damaged: it gets the mode of a new file
            found[path] = int(mode, 8) & 0o777
    return found


def read_job(place: StoreDirectory, job: str) -> JobRecord | None:
    """The record; None when there is none that can be read."""
    found = _read(job_directory(place, job).record, JobRecord)
    return found if found is not None and found.id == job else None


def read_task(place: StoreDirectory, job: str, number: int) -> TaskRecord | None:
    """What the task last wrote; None before it started."""
    return _read(job_directory(place, job).task(number), TaskRecord)


def read_tasks(
    place: StoreDirectory,
    job: str,
    damaged: list[int] | None = None,
    noted: list[int] | None = None,
) -> dict[int, TaskRecord]:
    """The records of all tasks that have started, by number; what is there and cannot be read is added to `damaged`.

    The tasks about which others may have left notes (`saved_rest.py`) are added to `noted`.
    """
    # Plain text for paths: an array has hundreds of these files, and a `Path` takes as long to make as one to read.
    directory = str(job_directory(place, job).path / _TASKS)
    try:
        names = os.listdir(directory)
    except OSError:
        return {}
    found: dict[int, TaskRecord] = {}
    for name in names:
        stem, _, kind = name.partition(".")
        if not (stem.isascii() and stem.isdigit()):
            continue
        if kind == REST_KIND and noted is not None:
            noted.append(int(stem))
        if kind != "json":
            continue
        record = _read(f"{directory}/{name}", TaskRecord)
        if record is not None and record.task == int(stem):
            found[record.task] = record
        elif damaged is not None and os.path.lexists(f"{directory}/{name}"):
            damaged.append(int(stem))
    return found


def last_outputs(place: StoreDirectory, job: str) -> dict[int, float]:
    """When each task last printed something, in seconds since 1970, as this host sees it."""
    found: dict[int, float] = {}
    try:
        with os.scandir(job_directory(place, job).logs) as entries:
            for entry in entries:
                name, _, kind = entry.name.partition(".")
                if kind in {"out", "err"} and name.isascii() and name.isdigit():
                    status = entry.stat(follow_symlinks=False)
                    if status.st_size:
                        task = int(name)
                        found[task] = max(status.st_mtime, found.get(task, 0.0))
    except OSError:
        return found
    return found


def read_slurm(place: StoreDirectory, job: str) -> SlurmRecord:
    """What Slurm said of the tasks that ended, as far as somebody has looked."""
    return _read(job_directory(place, job).slurm, SlurmRecord) or SlurmRecord()


def job_ids(place: StoreDirectory) -> list[str]:
    """The ids of all jobs that have a directory, oldest first."""
    directory = place.directory / JOBS_NAME
    with store_errors(directory):
        try:
            names = os.listdir(directory)
        except FileNotFoundError:
            return []
    return sorted(name for name in names if is_job_id(name))


def read_jobs(
    place: StoreDirectory, but: Collection[str] = (), damaged: list[str] | None = None
) -> list[JobRecord]:
    """Every record that can be read but for these, oldest first; of one second, in the order of Slurm's numbers.

    The ids of those that are there and cannot be read are added to `damaged`.
    """
    found: list[JobRecord] = []
    for job in job_ids(place):
        record = None if job in but else read_job(place, job)
        if record is not None:
            found.append(record)
        elif damaged is not None and job not in but and is_damaged(place, job):
            damaged.append(job)
    return sorted(found, key=_by_submission)


def is_damaged(place: StoreDirectory, job: str) -> bool:
    """Whether a record that could not be read is there at all: one who was killed before writing it has left a directory."""
    return os.path.lexists(job_directory(place, job).record)


def _by_submission(record: JobRecord) -> tuple[str, bool, int, str]:
    """The end of an id is by chance. A job without a number comes after those that Slurm has."""
    second = record.id.partition("-")[0]
    return second, record.number is None, record.number or 0, record.id


def forget_request(place: StoreDirectory, job: str) -> None:
    """Removes what the agent in the job was asked: nobody needs it after the job's end."""
    with suppress(OSError):
        job_directory(place, job).request.unlink()


def _write(file: Path, record: msgspec.Struct) -> None:
    with store_errors(file.parent):
        content = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
        replace_file(file, content, mode=FILE_MODE)


def _read(file: Path | str, kind: type[R]) -> R | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            content = _all_of(descriptor)
        finally:
            os.close(descriptor)
        return decoded(content, kind)
    except (OSError, msgspec.DecodeError):
        return None


def _all_of(descriptor: int) -> bytes:
    """Up to the limit: what is longer is cut, and so no record."""
    content = b""
    while len(content) < _LIMIT_BYTES and (piece := os.read(descriptor, _PIECE_BYTES)):
        content += piece
    return content
