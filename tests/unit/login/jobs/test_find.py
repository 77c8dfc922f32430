"""Which job is meant by what people type."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.login.jobs.find import Jobs, find_job
from scratchflow.model.errors.jobs import JobMissing, TaskMissing
from scratchflow.model.job import JobRecord
from tests.unit.model.test_job import PLAIN

FIRST = msgspec.structs.replace(PLAIN, id="20261115T093000Z-3f2a9c", number=41)
ARRAY = msgspec.structs.replace(
    PLAIN, id="20261115T093100Z-aaaaaa", number=42, tasks=[{"k": 1}, {"k": 2}]
)
AGAIN = msgspec.structs.replace(PLAIN, id="20261116T093000Z-772a9c", number=41)
RECORDS = [FIRST, ARRAY, AGAIN]


@pytest.mark.parametrize(
    ("wanted", "record", "task"),
    [
        ("last", AGAIN, None),
        ("42", ARRAY, None),
        ("42_1", ARRAY, 1),
        ("aaaaaa_0", ARRAY, 0),
        ("3f2a9c", FIRST, None),
        (FIRST.id, FIRST, None),
        ("41", AGAIN, None),
    ],
)
def test_it_is_found(wanted: str, record: JobRecord, task: int | None) -> None:
    assert find_job(RECORDS, wanted) == (record, task)


@pytest.mark.parametrize("wanted", ["40", "42_7", "2a9c", "", "c", "../x"])
def test_what_is_none_or_several_is_missing(wanted: str) -> None:
    with pytest.raises(JobMissing):
        find_job(RECORDS, wanted)


def test_one_whose_record_cannot_be_read_is_never_taken_for_another() -> None:
    older, newer = "20261114T093000Z-0dd0dd", "20261117T093000Z-0dd1dd"
    with pytest.raises(JobMissing, match=f"the record of `{newer}` cannot be read"):
        Jobs(RECORDS, [older, newer]).find("last")
    with pytest.raises(JobMissing, match=f"the record of `{older}` cannot be read"):
        Jobs(RECORDS, [older]).find("0dd0dd")
    assert Jobs(RECORDS, [older]).find("last") == (AGAIN, None)
    assert Jobs(RECORDS, [older, newer]).find("41") == (AGAIN, None)


def test_before_the_first_job_that_is_said() -> None:
    with pytest.raises(JobMissing, match="none was submitted yet"):
        find_job([], "last")


def test_of_a_task_that_a_job_does_not_have_its_tasks_are_named() -> None:
    with pytest.raises(TaskMissing, match=r"job 42 has no task 7: its tasks are 0-1$") as caught:
        find_job(RECORDS, "42_7")
    assert caught.value.shown_hint == "`scratchflow jobs show 42` shows them"
    with pytest.raises(TaskMissing, match=r"job 41 has no task 3: it has 0 alone$"):
        find_job(RECORDS, "41_3")


SWEEP = msgspec.structs.replace(ARRAY, id="20261117T093100Z-bbbbbb", number=43, name="lr")
EARLIER = msgspec.structs.replace(FIRST, id="20261117T093000Z-cccccc", number=40, name="lr")
LIKE_A_NUMBER = msgspec.structs.replace(FIRST, id="20261117T093200Z-dddddd", number=44, name="42")


def test_a_name_means_the_newest_job_that_has_it_and_that_is_said() -> None:
    said: list[str] = []
    jobs = Jobs([EARLIER, SWEEP, FIRST], [], said.append)
    assert jobs.find("lr") == (SWEEP, None)
    assert jobs.find("lr_1") == (SWEEP, 1)
    assert said == ["2 jobs are named `lr`: 43 is the newest"] * 2
    with pytest.raises(TaskMissing, match="job 43 has no task 7"):
        jobs.find("lr_7")


def test_a_number_is_taken_before_a_name() -> None:
    said: list[str] = []
    jobs = Jobs([ARRAY, LIKE_A_NUMBER], [], said.append)
    assert jobs.find("42") == (ARRAY, None)
    assert (jobs.find("last"), said) == ((LIKE_A_NUMBER, None), [])


def test_a_name_that_is_the_end_of_another_jobs_id_is_told_to_be_both() -> None:
    """Whoever prunes or cancels by it would hit the other one."""
    unlucky = msgspec.structs.replace(SWEEP, name="3f2a9c")
    with pytest.raises(JobMissing, match=f"it could be `{FIRST.id}`, `{unlucky.id}`"):
        find_job([FIRST, unlucky], "3f2a9c")
    assert find_job([FIRST, unlucky], FIRST.id) == (FIRST, None)
    assert find_job([FIRST, unlucky], "43") == (unlucky, None)
    own = msgspec.structs.replace(FIRST, name="3f2a9c")
    assert find_job([own], "3f2a9c") == (own, None)
    array = msgspec.structs.replace(SWEEP, id="20261117T093100Z-3f2a9c", name="x")
    named = msgspec.structs.replace(SWEEP, name="3f2a9c")
    with pytest.raises(JobMissing, match="it could be"):
        find_job([array, named], "3f2a9c_1")


def test_a_name_is_also_found_as_it_was_asked_for() -> None:
    named = msgspec.structs.replace(SWEEP, name="with-space")
    assert find_job([named, FIRST], "with space") == (named, None)
    assert find_job([named, FIRST], "with space_1") == (named, 1)
    for nothing in ("..", "☃", " "):
        with pytest.raises(JobMissing):
            find_job([msgspec.structs.replace(named, name="job")], nothing)
