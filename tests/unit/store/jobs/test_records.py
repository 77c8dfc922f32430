"""Records of jobs: written whole, private, and robust to read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.job import JobRecord, SlurmRecord, SlurmTask, TaskRecord
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.jobs import records as module
from scratchflow.store.jobs.records import (
    job_directory,
    last_outputs,
    make_job_directory,
    read_job,
    read_jobs,
    read_present,
    read_slurm,
    read_task,
    read_tasks,
    write_job,
    write_present,
    write_slurm,
    write_task,
)
from scratchflow.testing.store import make_id


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


def record(job: str, snapshot: str = "") -> JobRecord:
    return JobRecord(
        id=job,
        time="2026-11-15T09:30:00Z",
        name="train",
        profile="aws",
        workspace="work",
        snapshot=snapshot or make_id(),
        command=["python", "train.py"],
    )


def test_what_was_written_is_read_and_replaced_whole(place: StoreDirectory) -> None:
    first, second = record(make_id(1)), record(make_id(2))
    make_job_directory(place, second)
    make_job_directory(place, first)
    assert read_jobs(place) == [first, second]
    numbered = msgspec.structs.replace(first, number=7)
    write_job(place, numbered)
    assert read_job(place, first.id) == numbered


def test_which_files_a_task_has_is_noted_with_any_name(place: StoreDirectory) -> None:
    job = make_id()
    make_job_directory(place, record(job))
    assert read_present(place, job, 0) is None
    names = {"outputs/a b": 0o644, "outputs/new\nline": 0o400, "outputs/\udcff": None}
    write_present(place, job, 0, names)
    assert read_present(place, job, 0) == names
    write_present(place, job, 0, {})
    assert read_present(place, job, 0) == {}
    assert read_tasks(place, job) == {}


def test_jobs_of_one_second_are_in_the_order_of_slurms_numbers(place: StoreDirectory) -> None:
    second = "20261115T093000Z"
    numbers = {"aaaaaa": 9, "bbbbbb": None, "cccccc": 7, "dddddd": 10}
    for end, number in numbers.items():
        one = msgspec.structs.replace(record(f"{second}-{end}"), number=number)
        make_job_directory(place, one)
    make_job_directory(place, record("20261115T093001Z-000000"))
    assert [one.number for one in read_jobs(place)] == [7, 9, 10, None, None]
    assert read_jobs(place)[-1].id.startswith("20261115T093001Z")


def test_everything_is_private(place: StoreDirectory) -> None:
    where = make_job_directory(place, record(make_id()))
    assert stat.S_IMODE(where.path.stat().st_mode) == 0o700
    assert stat.S_IMODE(where.record.stat().st_mode) == 0o600


def test_tasks_and_slurm_have_files_of_their_own(place: StoreDirectory) -> None:
    job = make_id()
    make_job_directory(place, record(job))
    assert (read_task(place, job, 0), read_tasks(place, job)) == (None, {})
    assert read_slurm(place, job) == SlurmRecord()
    task = TaskRecord(task=3, job_id=9, node="n1", phase="running", start="2026-11-15T09:30:00Z")
    write_task(place, job, task)
    said = SlurmRecord({3: SlurmTask(task=3, job_id=9, state="TIMEOUT")})
    write_slurm(place, job, said)
    assert read_tasks(place, job) == {3: task}
    assert read_slurm(place, job) == said


def test_a_record_larger_than_one_read_is_whole(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PIECE_BYTES", 7)
    one = record(make_id())
    make_job_directory(place, one)
    assert read_job(place, one.id) == one


def test_the_newer_of_its_two_files_says_when_a_task_last_printed(place: StoreDirectory) -> None:
    job = make_id()
    where = make_job_directory(place, record(job))
    assert last_outputs(place, job) == {}
    for name, size, time_s in [
        ("0.out", 1, 10),
        ("0.err", 1, 20),
        ("1.out", 0, 30),
        ("12.out", 2, 5),
    ]:
        (where.logs / name).write_bytes(b"x" * size)
        os.utime(where.logs / name, (time_s, time_s))
    (where.logs / "agent.jsonl").write_text("{}")
    (where.logs / "x.out").write_text("no task")
    assert last_outputs(place, job) == {0: 20.0, 12: 5.0}
    assert last_outputs(place, "20200101T000000Z-abcdef") == {}


def test_what_cannot_be_read_is_no_record(place: StoreDirectory) -> None:
    job = make_id()
    where = make_job_directory(place, record(job))
    where.record.write_text("{")
    assert read_jobs(place) == []
    where.record.unlink()
    where.record.symlink_to("/etc/passwd")
    assert read_job(place, job) is None


def test_a_name_that_is_no_id_never_becomes_a_path(place: StoreDirectory) -> None:
    with pytest.raises(ValueError, match="not a job"):
        job_directory(place, "../nodes")
