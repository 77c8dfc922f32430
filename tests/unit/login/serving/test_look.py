"""What is said to run does run."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from scratchflow.login.serving import look as module
from scratchflow.login.serving.look import KILLED, list_servers, servers_on
from scratchflow.login.serving.start import start_server
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.requests import NOTHING, StartServer
from scratchflow.process.waiting import looks
from scratchflow.reach.lasting_agent import AgentAt
from scratchflow.workspace.servers import (
    ServerRecord,
    mark_ended,
    read_server,
    read_servers,
    write_server,
)
from tests.unit.login.serving.conftest import Here

PAGES = (sys.executable, "pages.py", "{socket}")
RECORD = ServerRecord(
    name="a",
    kind="jupyter",
    words=(),
    start="x",
    node="node-1",
    job_id=7,
    step_id=3,
    token="t",  # noqa: S106 - no secret
)
JOB = RunningAllocation(job_id=7, name="n", state="running", nodes=("node-1",))


@pytest.mark.slow
def test_one_that_was_killed_is_told_as_that(here: Here) -> None:
    start_server(here.host, StartServer(words=PAGES, name="a"))
    record = read_server(here.home, "test", "a")
    assert record is not None
    assert [one.ended for one in servers_on(here.host)] == [""]
    os.kill(record.pid, signal.SIGKILL)
    seen = ([one.ended for one in servers_on(here.host)] for _ in looks(10, 0.05))
    assert [KILLED] in seen


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    """A login host of a Slurm cluster with one job; which steps run is up to the test."""
    made = Here(tmp_path, "slurm")
    monkeypatch.setattr(AgentAt, "runs", lambda _: True)
    write_server(made.home, "test", RECORD)
    return made


def test_tokens_are_apart_from_what_is_shown(slurm: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "held_jobs", lambda _: [JOB])
    seen = list_servers(slurm.host, NOTHING)
    assert seen.tokens == {"a": "t"}
    assert seen.pages == {"a": "/lab"}
    assert "token" not in str(msgspec.to_builtins(seen.servers))


def test_those_of_a_job_that_has_ended_are_forgotten(slurm: Here) -> None:
    assert servers_on(slurm.host, [JOB]) == [RECORD]
    assert servers_on(slurm.host, []) == []
    assert read_servers(slurm.home, "test") == []


def test_a_step_that_is_gone_was_killed_unless_it_told_its_end(
    slurm: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AgentAt, "runs", lambda _: False)
    assert [one.ended for one in servers_on(slurm.host, [JOB])] == [KILLED]
    mark_ended(slurm.home, "test", "a", "x", "exit code 1")
    assert [one.ended for one in servers_on(slurm.host, [JOB])] == ["exit code 1"]


def test_without_an_answer_it_is_taken_to_run(slurm: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AgentAt, "runs", lambda _: None)
    assert servers_on(slurm.host, [JOB]) == [RECORD]


def test_one_that_is_being_started_is_not_listed(slurm: Here) -> None:
    write_server(slurm.home, "test", msgspec.structs.replace(RECORD, node=""))
    assert servers_on(slurm.host, [JOB]) == []
    assert read_servers(slurm.home, "test") != []
