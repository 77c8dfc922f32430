"""The record of a job goes with everything beside it, and what a killed removal left goes with the next."""

from __future__ import annotations

import os

import pytest

from scratchflow.store.directory import JOBS_NAME, StoreDirectory
from scratchflow.store.jobs import remove as module
from scratchflow.store.jobs.outputs import outputs_of_tasks
from scratchflow.store.jobs.records import job_directory, job_ids, make_job_directory, read_jobs
from scratchflow.store.jobs.remove import Held, all_of, outputs_of, remove_job, sweep_removed
from scratchflow.testing.store import make_id
from tests.unit.store.jobs.test_records import place as place  # noqa: PLC0414 - a fixture
from tests.unit.store.jobs.test_records import record

JOB, OTHER = make_id(1), make_id(2)


@pytest.fixture
def two(place: StoreDirectory) -> StoreDirectory:
    for job in (JOB, OTHER):
        where = make_job_directory(place, record(job))
        (where.outputs(0) / "outputs").mkdir(parents=True)
        (where.outputs(0) / "outputs/x").write_text("made")
    return place


def test_one_goes_and_the_other_stays(two: StoreDirectory) -> None:
    assert outputs_of(two, JOB) == Held(1, 4)
    assert all_of(two, JOB).files == 2
    remove_job(two, JOB)
    assert [one.id for one in read_jobs(two)] == [OTHER]
    assert sorted(path.name for path in (two.directory / JOBS_NAME).iterdir()) == [OTHER]
    assert outputs_of(two, OTHER) == Held(1, 4)


def test_what_a_job_made_is_counted_as_it_is_listed(two: StoreDirectory) -> None:
    top = job_directory(two, JOB).outputs(0) / "outputs"
    (top / "to-directory").symlink_to("/")
    (top / "to-file").symlink_to("x")
    (top / ".tmp-0").write_text("half")
    os.mkfifo(top / "pipe")
    listed = outputs_of_tasks(two, record(JOB))
    assert outputs_of(two, JOB) == Held(len(listed), sum(one.size_bytes for one in listed))
    assert outputs_of(two, JOB) == Held(3, 4)


def test_one_that_somebody_else_has_just_removed_is_gone_all_the_same(two: StoreDirectory) -> None:
    remove_job(two, JOB)
    remove_job(two, JOB)
    assert job_ids(two) == [OTHER]


def test_what_a_killed_removal_left_is_no_job_and_goes_with_the_next(
    two: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(module, "remove_tree", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_job(two, JOB)
    assert job_ids(two) == [OTHER]
    sweep_removed(two)
    assert [path.name for path in (two.directory / JOBS_NAME).iterdir()] == [OTHER]
