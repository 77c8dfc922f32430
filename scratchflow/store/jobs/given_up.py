"""`jobs/given-up/`: what `jobs prune --outputs` gave up while it may lie on a node yet, so that the next job there removes it.

One small file for each copy, with the record's id and Slurm's number of the task: Slurm uses numbers again, and what is not
exactly this copy is nobody's to remove.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.job import is_job_id
from scratchflow.store.checks.fresh import forget_listing
from scratchflow.store.directory import (
    FILE_MODE,
    JOBS_NAME,
    StoreDirectory,
    make_private_directory,
)
from scratchflow.store.failures import store_errors

_DIRECTORY = "given-up"
_LIMIT_BYTES = 1 << 16


class GivenUp(msgspec.Struct, frozen=True, kw_only=True):
    """One copy on one node. `shown` is what people call the job."""

    job: str
    task: int
    number: int
    """Slurm's, of the task itself."""
    node: str
    shown: str = ""


def note_given_up(place: StoreDirectory, copies: Iterable[GivenUp]) -> None:
    """Notes them durably. Until the record is gone from the store, the note has no effect."""
    for copy in copies:
        file = _file(place, copy.job, copy.task, copy.node)
        with store_errors(file.parent):
            make_private_directory(file.parent)
            replace_file(file, msgspec.json.encode(copy) + b"\n", mode=FILE_MODE)


def read_given_up(place: StoreDirectory, job: str, task: int, node: str) -> GivenUp | None:
    """The note about this copy; None when there is none that can be read, or it is about another one."""
    file = _file(place, job, task, node)
    forget_listing(file.parent)  # it may be of a moment ago
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            content = os.read(descriptor, _LIMIT_BYTES)
        finally:
            os.close(descriptor)
        found = decoded(content, GivenUp)
    except (OSError, msgspec.DecodeError):
        return None
    return found if (found.job, found.task, found.node) == (job, task, node) else None


def forget_given_up(place: StoreDirectory, copy: GivenUp) -> None:
    """Removes the note, when the copy is gone."""
    with suppress(OSError):
        _file(place, copy.job, copy.task, copy.node).unlink()


def _file(place: StoreDirectory, job: str, task: int, node: str) -> Path:
    name = f"{job}-{task}@{node}.json"
    if not is_job_id(job) or "/" in name:
        raise ValueError(f"not a copy of a job on a node: {name!r}")
    return place.directory / JOBS_NAME / _DIRECTORY / name
