"""Which snapshots the records of jobs need: `prune` keeps them as long as `keep_jobs` says."""

from __future__ import annotations

from datetime import datetime, timezone

from scratchflow.model.errors import StoreUnusable
from scratchflow.model.times import epoch
from scratchflow.store.directory import JOBS_NAME, StoreDirectory
from scratchflow.store.jobs.records import job_ids, read_job


def needed_by_jobs(place: StoreDirectory) -> dict[str, tuple[str, datetime]]:
    """Each snapshot that a record names: the newest such job, and when that was submitted.

    StoreUnusable while a record cannot be read: what it needs is unknown, and nothing may be removed.
    """
    needed: dict[str, tuple[str, datetime]] = {}
    for job in job_ids(place):
        record = read_job(place, job)
        if record is None:
            if (place.directory / JOBS_NAME / job / "job.json").exists():
                raise StoreUnusable(
                    path=place.directory / JOBS_NAME / job,
                    reason="the record of this job cannot be read, so which snapshot it needs is unknown",
                    remedy="move its directory out of the store to give it up",
                )
            continue  # killed before the record was written: nothing was submitted
        submitted = datetime.fromtimestamp(epoch(record.time) or 0, timezone.utc)
        needed[record.snapshot] = (job, submitted)
    return needed
