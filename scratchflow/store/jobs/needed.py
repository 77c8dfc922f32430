"""Which snapshots the records of jobs need: `prune` keeps them as long as `keep_jobs` says."""

from __future__ import annotations

from datetime import datetime, timezone

from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.job import JobRecord
from scratchflow.model.times import epoch
from scratchflow.store.directory import JOBS_NAME, StoreDirectory
from scratchflow.store.jobs.records import (
    is_damaged,
    job_directory,
    job_ids,
    read_job,
    read_tasks,
)

NOT_ENDED = datetime.max.replace(tzinfo=timezone.utc)
"""In place of a time: the job waits or runs, as far as its record tells, and is never too old."""


def needed_by_jobs(place: StoreDirectory) -> dict[str, tuple[str, datetime]]:
    """Each snapshot that a record names: the newest such job, and when that was submitted, or NOT_ENDED.

    StoreUnusable while a record cannot be read: what it needs is unknown, and nothing may be removed.
    """
    needed: dict[str, tuple[str, datetime]] = {}
    for job in job_ids(place):
        record = read_job(place, job)
        if record is None:
            if is_damaged(place, job):
                raise StoreUnusable(
                    path=place.directory / JOBS_NAME / job,
                    reason="the record of this job cannot be read, so which snapshot it needs is unknown",
                    remedy="move its directory out of the store to give it up",
                )
            continue  # killed before the record was written: nothing was submitted
        submitted = datetime.fromtimestamp(epoch(record.time) or 0, timezone.utc)
        moment = NOT_ENDED if _may_start(place, record) else submitted
        if moment >= needed.get(record.snapshot, ("", submitted))[1]:
            needed[record.snapshot] = (job, moment)
    return needed


def jobs_from(place: StoreDirectory, snapshot: str) -> list[str]:
    """The jobs that run from a snapshot, by Slurm's numbers where those are known."""
    records = filter(None, (read_job(place, job) for job in job_ids(place)))
    return [str(one.number or one.id) for one in records if one.snapshot == snapshot]


def _may_start(place: StoreDirectory, record: JobRecord) -> bool:
    """Whether it may restore the snapshot yet: what its agent is asked is there until somebody has seen its end."""
    if not job_directory(place, record.id).request.exists():
        return False
    tasks = read_tasks(place, record.id)
    return any(
        number not in tasks or tasks[number].phase != "ended" for number in record.task_numbers
    )
