"""Which snapshots records need, and that nothing is removed while one of them cannot be read."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec
import pytest

from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.job import TaskRecord
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.jobs.needed import NOT_ENDED, jobs_from, needed_by_jobs
from scratchflow.store.jobs.records import job_directory, make_job_directory, write_task
from scratchflow.testing.store import make_id
from tests.unit.store.jobs.test_records import place as place  # noqa: PLC0414 - a fixture
from tests.unit.store.jobs.test_records import record


def test_the_newest_job_of_a_snapshot_counts(place: StoreDirectory) -> None:
    snapshot = make_id(99)
    make_job_directory(place, record(make_id(1), snapshot))
    later = msgspec.structs.replace(record(make_id(2), snapshot), time="2026-12-01T00:00:00Z")
    make_job_directory(place, later)
    submitted = datetime(2026, 12, 1, tzinfo=timezone.utc)
    assert needed_by_jobs(place) == {snapshot: (later.id, submitted)}


def test_jobs_are_named_by_their_numbers_where_those_are_known(place: StoreDirectory) -> None:
    snapshot = make_id(99)
    for number in (1, 2):
        numbered = msgspec.structs.replace(record(make_id(number), snapshot), number=40 + number)
        make_job_directory(place, numbered)
    unanswered = record(make_id(3), snapshot)
    make_job_directory(place, unanswered)
    make_job_directory(place, record(make_id(4), make_id(98)))
    assert jobs_from(place, snapshot) == ["41", "42", unanswered.id]


def test_a_job_that_has_not_ended_needs_its_snapshot_however_old_it_is(
    place: StoreDirectory,
) -> None:
    snapshot = make_id(99)
    where = make_job_directory(place, record(make_id(1), snapshot))
    where.request.write_text("{}")
    later = msgspec.structs.replace(record(make_id(2), snapshot), time="2026-12-01T00:00:00Z")
    make_job_directory(place, later)
    assert needed_by_jobs(place) == {snapshot: (where.path.name, NOT_ENDED)}
    again = TaskRecord(task=0, job_id=1, node="n", phase="requeued", start="")
    write_task(place, where.path.name, again)
    assert needed_by_jobs(place)[snapshot][1] == NOT_ENDED
    write_task(place, where.path.name, msgspec.structs.replace(again, phase="ended"))
    assert needed_by_jobs(place)[snapshot][0] == later.id


def test_an_unreadable_record_is_an_error_and_one_that_was_never_written_is_not(
    place: StoreDirectory,
) -> None:
    where = make_job_directory(place, record(make_id()))
    where.record.write_text("{")
    with pytest.raises(StoreUnusable):
        needed_by_jobs(place)
    job_directory(place, where.path.name).record.unlink()
    assert needed_by_jobs(place) == {}
