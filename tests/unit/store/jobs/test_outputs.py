"""What was collected from a job, as a list."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.disk.durable import TEMP_PREFIX
from scratchflow.model.job import JobRecord
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.jobs.outputs import keep_aside, outputs_of_tasks, place_of
from scratchflow.store.jobs.records import job_directory, make_job_directory

JOB = JobRecord(
    id="20261115T093000Z-3f2a9c",
    time="",
    name="n",
    profile="p",
    workspace="work",
    snapshot="s",
    command=["true"],
    number=41,
)


def saved(tmp_path: Path, record: JobRecord, *paths: str) -> StoreDirectory:
    place = find_place(tmp_path / "store", "work")
    place.directory.mkdir(parents=True)
    where = make_job_directory(place, record)
    for path in paths:
        file = where.all_outputs / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)
    return place


def record_of(tasks: int) -> JobRecord:
    return msgspec.structs.replace(JOB, tasks=[{} for _ in range(tasks)])


def test_the_only_task_needs_no_directory_but_a_further_node_has_one(tmp_path: Path) -> None:
    place = saved(tmp_path, JOB, "0/outputs/a", "0/b", "0@node-2/outputs/a")
    names = [one.name for one in outputs_of_tasks(place, JOB)]
    assert names == ["b", "outputs/a", "0@node-2/outputs/a"]


def test_tasks_are_in_the_order_of_their_numbers_and_may_be_chosen(tmp_path: Path) -> None:
    record = record_of(11)
    place = saved(tmp_path, record, "10/a", "2/a", "2@node-1/a", "0/a")
    assert [one.name for one in outputs_of_tasks(place, record)] == [
        "0/a",
        "2/a",
        "2@node-1/a",
        "10/a",
    ]
    chosen = outputs_of_tasks(place, record, [2, 10])
    assert [(one.name, one.task, one.size_bytes) for one in chosen] == [
        ("2/a", 2, 3),
        ("2@node-1/a", 2, 10),
        ("10/a", 10, 4),
    ]


def test_what_is_being_copied_is_not_among_them(tmp_path: Path) -> None:
    place = saved(tmp_path, JOB, f"0/{TEMP_PREFIX}abc", "0/a")
    assert [one.name for one in outputs_of_tasks(place, JOB)] == ["a"]


def test_links_are_listed_as_links(tmp_path: Path) -> None:
    place = saved(tmp_path, JOB, "0/a")
    top = outputs_of_tasks(place, JOB)[0].file.parent
    (top / "link").symlink_to("/etc")
    assert [(one.name, one.size_bytes) for one in outputs_of_tasks(place, JOB)] == [
        ("a", 3),
        ("link", 0),
    ]


@pytest.mark.parametrize(("number", "name"), [(41, "job-41"), (None, f"job-{JOB.id}")])
def test_each_job_has_a_directory_of_its_own(number: int | None, name: str) -> None:
    assert place_of(msgspec.structs.replace(JOB, number=number)) == name


def test_what_an_earlier_run_saved_is_kept_under_the_number_of_that_run(tmp_path: Path) -> None:
    place = saved(tmp_path, JOB, "0/a", "0@n2/b", "0@run-1/c")
    where = job_directory(place, JOB.id)
    assert keep_aside(where.outputs(0), 1)
    assert keep_aside(where.outputs(0, "n2"), 1)
    assert not keep_aside(where.outputs(0), 1)
    names = [one.name for one in outputs_of_tasks(place, JOB)]
    assert names == ["0@n2.run-1/b", "0@run-1/c", "0@run-2/a"]
