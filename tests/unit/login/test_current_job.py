"""The note of the job that is worked in: made when there is none, kept while its job runs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.login import current_job
from scratchflow.login.current_job import current_job_note, note_current_job
from scratchflow.model.allocation import Allocation
from tests.unit.login.test_run import HELD, login_host

OLD = msgspec.structs.replace(HELD, job_id=6)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> list[Allocation]:
    jobs: list[Allocation] = [HELD]
    monkeypatch.setattr(current_job, "our_jobs", lambda *_: jobs)
    return jobs


def test_the_first_look_makes_it(tmp_path: Path, running: list[Allocation]) -> None:
    assert running
    path = Path(current_job_note(login_host(tmp_path, "aws"), 7))
    assert path.read_text() == "7\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_one_of_a_job_that_has_ended_is_replaced(tmp_path: Path, running: list[Allocation]) -> None:
    login = login_host(tmp_path, "aws")
    note_current_job(login, 6)
    assert Path(current_job_note(login, 7)).read_text() == "7\n"
    note_current_job(login, 6)
    running.append(msgspec.structs.replace(OLD, state="ended"))
    assert Path(current_job_note(login, 7)).read_text() == "7\n"


def test_one_of_a_job_that_still_runs_is_left_to_the_hop(
    tmp_path: Path, running: list[Allocation]
) -> None:
    login = login_host(tmp_path, "aws")
    note_current_job(login, 6)
    running.append(OLD)
    assert Path(current_job_note(login, 7)).read_text() == "6\n"


def test_what_it_says_already_is_not_written_again(tmp_path: Path) -> None:
    login = login_host(tmp_path, "aws")
    path = Path(note_current_job(login, 7))
    before = path.stat().st_ino
    assert (note_current_job(login, 7), path.stat().st_ino) == (str(path), before)
    note_current_job(login, 8)
    assert path.read_text() == "8\n"


def test_where_none_can_be_written_there_is_none(tmp_path: Path) -> None:
    login = login_host(tmp_path, "aws")
    (tmp_path / ".local").write_text("no directory")
    assert note_current_job(login, 7) == ""
