"""Why a loop did not start is told in the words of its agent, when that had any."""

from __future__ import annotations

import time
from typing import Literal

import msgspec
import pytest

from scratchflow.cluster.slurm.lasting_step import LastingStep
from scratchflow.login.autobackup.start import _agent_error, _start_here, _wait_for_sign
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.store import StoreLocked, StoreUnusable
from scratchflow.model.errors.workspace import AutobackupFailed, AutobackupOfOther
from scratchflow.model.events import PROTOCOL_VERSION, Event, Failure, Log
from scratchflow.model.times import iso_time
from scratchflow.store.heartbeats import Heartbeat, beat, log_path, prepare
from scratchflow.testing.slurm import FakeClock
from tests.unit.conftest import Desk


def line(event: Event) -> bytes:
    """As the agent writes it."""
    return msgspec.json.encode({"v": PROTOCOL_VERSION, "seq": 1, **msgspec.to_builtins(event)})


def test_the_last_line_of_the_agent_is_the_reason_when_it_is_an_error() -> None:
    failed = Failure(code=StoreLocked.code, message="m", hint="h", retryable=True, exit_code=34)
    log, error = line(Log(level="info", message="x")), line(failed)
    assert isinstance(_agent_error([log, error]), StoreLocked)
    assert _agent_error([error, log]) is None
    assert _agent_error([b"srun: error: no"]) is None
    assert _agent_error([]) is None


class Ended(LastingStep):
    """A loop that found another one there, and ended."""

    def __init__(self) -> None:
        """No process."""

    def has_ended_well(self) -> bool:
        return True

    def failure(self) -> str | None:
        return "`srun` exited with 0"

    def output_lines(self) -> list[bytes]:
        return []


@pytest.mark.parametrize(
    ("job", "phase", "is_named"), [(7, "waiting", True), (7, "ended", False), (8, "waiting", False)]
)
def test_the_job_is_named_whose_auto_backup_has_the_workspace_already(
    desk: Desk, job: int, phase: Literal["waiting", "ended"], is_named: bool
) -> None:
    desk.backup()
    life = Heartbeat(
        node="node-1",
        job_id=job,
        step_id=1,
        pid=1,
        token="other",  # noqa: S106 - no password
        every_s=1800,
        phase=phase,
        time=iso_time(time.time() - (0 if is_named else 9999)) or "",
        beats=3,
    )
    prepare(desk.place)
    beat(desk.place, life)
    login = LoginHost(desk.context.settings, {}, lambda _: None, FakeClock().clock)
    held = RunningAllocation(job_id=8, name="j", state="running", nodes=("node-1",))
    with pytest.raises(AutobackupFailed) as caught:
        _wait_for_sign(login, Ended(), desk.place, held, "ours")
    assert ("that of job 7 saves the same workspace there" in str(caught.value)) == is_named
    assert ("gives no sign of life" in str(caught.value)) != is_named


def test_another_profile_is_named_that_started_one_meanwhile(desk: Desk) -> None:
    desk.backup()
    life = Heartbeat(
        node="node-1",
        job_id=7,
        step_id=1,
        pid=1,
        token="other",  # noqa: S106 - no password
        every_s=1800,
        phase="waiting",
        time=iso_time(time.time()) or "",
        job_name="scratchflow:login:01234567",
        settings="others",
    )
    prepare(desk.place)
    beat(desk.place, life)
    login = LoginHost(desk.context.settings, {}, lambda _: None, FakeClock().clock)
    held = RunningAllocation(job_id=8, name="j", state="running", nodes=("node-1",))
    with pytest.raises(AutobackupOfOther) as caught:
        _wait_for_sign(login, Ended(), desk.place, held, "ours")
    assert "profile `login` (job 7)" in str(caught.value)


def test_without_a_cluster_a_store_that_cannot_be_written_to_is_told_as_that(desk: Desk) -> None:
    desk.backup()
    prepare(desk.place)
    log = log_path(desk.place, "here")
    log.touch(mode=0o400)
    with pytest.raises(StoreUnusable):
        _start_here(b"", log)
