"""Notes for a task that runs: what other jobs have saved of its earlier runs."""

from __future__ import annotations

from scratchflow.store.jobs.records import job_directory, make_job_directory, read_tasks
from scratchflow.store.jobs.saved_rest import (
    SavedRest,
    forget_saved_rests,
    note_saved_rest,
    read_saved_rests,
)
from tests.unit.conftest import Desk
from tests.unit.store.jobs.test_records import record

JOB = "20261115T093000Z-3f2a9c"


def test_each_note_is_read_until_it_is_taken_over(desk: Desk) -> None:
    desk.backup()
    make_job_directory(desk.place, record(JOB))
    assert not read_saved_rests(desk.place, JOB, 0)
    one, other = SavedRest("n1", ["outputs/a: a link"]), SavedRest("n1")
    note_saved_rest(desk.place, JOB, 0, one)
    first = read_saved_rests(desk.place, JOB, 0)
    assert [*first.values()] == [one]
    note_saved_rest(desk.place, JOB, 0, other)
    forget_saved_rests(first)
    forget_saved_rests(first)  # somebody else was faster
    assert [*read_saved_rests(desk.place, JOB, 0).values()] == [other]
    assert not read_saved_rests(desk.place, JOB, 1)
    assert not read_tasks(desk.place, JOB)  # they are no records


def test_what_is_no_note_is_passed_over(desk: Desk) -> None:
    desk.backup()
    make_job_directory(desk.place, record(JOB))
    note_saved_rest(desk.place, JOB, 0, SavedRest("n1"))
    directory = job_directory(desk.place, JOB).tasks / "0.rest"
    (directory / "half.json").write_bytes(b"{")
    (directory / "directory").mkdir()
    assert len(read_saved_rests(desk.place, JOB, 0)) == 1
