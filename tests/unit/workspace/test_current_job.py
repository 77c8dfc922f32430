"""Which of several jobs is meant when nobody says which."""

from __future__ import annotations

from pathlib import Path

from scratchflow.model.allocation import RunningAllocation
from scratchflow.workspace.current_job import note_path, noted_job, worked_in

JOBS = [
    RunningAllocation(job_id=number, name="n", state="running", nodes=(f"node-{number}",))
    for number in (3, 5)
]


def test_the_noted_one_is_meant_while_it_is_there_else_the_newest() -> None:
    assert worked_in(JOBS, 3) == JOBS[0]
    assert worked_in(JOBS, 5) == JOBS[1]
    assert worked_in(JOBS, 4) == worked_in(JOBS, None) == JOBS[1]
    assert worked_in([], 3) is None


def test_a_note_that_says_nothing_is_none(tmp_path: Path) -> None:
    assert noted_job(tmp_path, "p") is None
    note = note_path(tmp_path, "p")
    note.parent.mkdir(parents=True)
    note.write_bytes(b"\xff")
    assert noted_job(tmp_path, "p") is None
    note.write_text("12\n")
    assert noted_job(tmp_path, "p") == 12
