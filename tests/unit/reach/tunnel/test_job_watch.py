"""A job, watched by a far end that is no step of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.process.waiting import looks
from scratchflow.reach.tunnel import job_watch as module
from scratchflow.reach.tunnel.job_watch import JobWatch


@pytest.fixture
def slurm(tmp_path: Path) -> dict[str, str]:
    """An environment whose `squeue` prints what the file `said` holds, or fails without one."""
    program = tmp_path / "squeue"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/said\n")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def test_without_an_answer_at_the_start_nothing_is_watched(slurm: dict[str, str]) -> None:
    assert not JobWatch(7, slurm).begins()
    assert not JobWatch(7, {**slurm, "PATH": "/nowhere"}).begins()


def test_a_job_that_slurm_does_not_know_has_ended(slurm: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "said").write_text("")
    assert not JobWatch(7, slurm).begins()


def test_it_ends_with_the_job_and_not_with_slurms_silence(
    slurm: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ASK_EVERY_S", 0.01)
    asked: list[bool] = []
    answers: Iterator[bool | OSError] = iter([False, OSError("no answer"), False, True])

    def answer(_: JobWatch) -> bool:
        found = next(answers)
        asked.append(watch.runs())
        if isinstance(found, OSError):
            raise found
        return found

    monkeypatch.setattr(JobWatch, "_ask", answer)
    watch = JobWatch(7, slurm)
    assert watch.begins()
    assert any(not watch.runs() for _ in looks(30, 0.01))
    assert asked == [True] * 4
