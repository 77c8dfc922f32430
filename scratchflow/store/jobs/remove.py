"""The record of a job, removed with its logs and all that was collected: out of sight at once, then from the disk."""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from scratchflow.disk.durable import fsync_directory
from scratchflow.disk.trees import remove_tree
from scratchflow.model.job import is_job_id
from scratchflow.store.directory import JOBS_NAME, StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.jobs.outputs import files_beneath
from scratchflow.store.jobs.records import job_directory

_REMOVED = ".removed-"


class Held(msgspec.Struct, frozen=True):
    """How much lies in a directory."""

    files: int = 0
    bytes: int = 0


def outputs_of(place: StoreDirectory, job: str) -> Held:
    """What was collected from all tasks of a job, counted as `jobs show` and `jobs outputs` do."""
    top = job_directory(place, job).all_outputs
    with store_errors(top):
        sizes = [size for _, size, _ in files_beneath(top)]
    return Held(len(sizes), sum(sizes))


def all_of(place: StoreDirectory, job: str) -> Held:
    """How much room everything in the job's directory takes."""
    files = size = 0
    for directory, _, names in os.walk(job_directory(place, job).path):
        for name in names:
            with suppress(FileNotFoundError):
                size += os.lstat(os.path.join(directory, name)).st_size
                files += 1
    return Held(files, size)


def remove_job(place: StoreDirectory, job: str) -> None:
    """Removes the job's directory. Killed on the way, the rest goes with the next removal; somebody else may be quicker."""
    where = job_directory(place, job).path
    with store_errors(where):
        aside = where.with_name(f"{_REMOVED}{job}")
        try:
            os.rename(where, aside)
        except FileNotFoundError:
            return
        fsync_directory(where.parent)
        remove_tree(aside)


def sweep_removed(place: StoreDirectory) -> None:
    """Removes what a removal that was killed has left."""
    directory = place.directory / JOBS_NAME
    with suppress(OSError):
        for name in os.listdir(directory):
            if name.startswith(_REMOVED) and is_job_id(name.removeprefix(_REMOVED)):
                remove_tree(directory / name)
