"""A loop that is no step of its job ends with it all the same."""

from __future__ import annotations

import signal
import threading
import time
from functools import partial

import pytest
from msgspec.structs import replace

from scratchflow.model.allocation import Allocation, AllocationState
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.errors.workspace import AutobackupFailed
from scratchflow.model.requests import Autobackup
from scratchflow.node.autobackup import loop as autobackup_loop
from scratchflow.node.autobackup.job_guard import JobGuard
from scratchflow.node.autobackup.loop import run_autobackup
from scratchflow.node.context import NodeContext
from tests.unit.conftest import Desk

NAME = "scratchflow:test:abc"
TERM, KILL = signal.SIGTERM, signal.SIGKILL


def job(state: AllocationState, end_time: int | None = None) -> Allocation:
    return Allocation(job_id=7, name=NAME, state=state, nodes=("node-1",), end_time=end_time)


def silent() -> Allocation:
    raise SlurmUnreachable(host="node-1", reason="there is no `squeue` on its PATH")


class Watched:
    """A guard whose signals are noted, and that is done as soon as it has sent enough of them."""

    def __init__(self, *states: AllocationState, taken: bool = False, ends_at: int = 2) -> None:
        self.states = list(states)
        self.sent: list[signal.Signals] = []
        self.enough = threading.Event()
        self.ends_at = ends_at
        self.guard = JobGuard(
            self.ask, lambda: taken, None, send=self.send, ask_every_s=0.001, kill_wait_s=0.05
        )

    def ask(self) -> Allocation:
        return job(self.states.pop(0) if len(self.states) > 1 else self.states[0])

    def send(self, signum: signal.Signals) -> None:
        self.sent.append(signum)
        if len(self.sent) == self.ends_at:
            self.enough.set()

    def watch(self) -> list[signal.Signals]:
        with self.guard.watching():
            assert self.enough.wait(10)
        return self.sent


def test_it_is_told_to_end_with_its_job_and_killed_when_it_does_not() -> None:
    assert Watched("running", "running", "completing").watch() == [TERM, KILL]


def test_one_that_ends_in_time_is_not_killed() -> None:
    watched = Watched("ended", ends_at=1)
    watched.guard._kill_wait_s = 60
    assert watched.watch() == [TERM]


def test_where_another_job_of_ours_has_the_node_nothing_more_is_saved() -> None:
    assert Watched("ended", taken=True, ends_at=1).watch() == [KILL]


@pytest.mark.parametrize(("left_s", "over"), [(None, None), (3600, False), (-1, True)])
def test_without_slurm_the_time_limit_decides(left_s: int | None, over: bool | None) -> None:
    end_s = None if left_s is None else time.time() + left_s
    assert JobGuard(silent, lambda: False, end_s).is_over() is over


def test_a_moved_time_limit_is_noticed_and_slurms_word_counts_more() -> None:
    guard = JobGuard(lambda: job("running", end_time=5), lambda: False, 1.0)
    assert guard.is_over() is False
    assert guard.end_s == 5


def test_a_loop_that_could_never_know_its_end_does_not_begin(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autobackup_loop, "_lower_priority", lambda: "")
    monkeypatch.setattr(autobackup_loop, "_write_to_the_log", lambda _: None)
    monkeypatch.setattr(autobackup_loop, "job", lambda *_: silent())
    with pytest.raises(AutobackupFailed, match="when its job ends"):
        run_autobackup(in_job(desk), desk.notify, Autobackup(token="t", job_name=NAME), {})  # noqa: S106 - no secret


def test_the_loop_takes_a_last_backup_when_its_job_is_over(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autobackup_loop, "_lower_priority", lambda: "")
    monkeypatch.setattr(autobackup_loop, "_write_to_the_log", lambda _: None)
    monkeypatch.setattr(autobackup_loop, "job", lambda *_: job("ended"))
    monkeypatch.setattr(autobackup_loop, "our_jobs", lambda *_: [])
    monkeypatch.setattr(autobackup_loop, "JobGuard", partial(JobGuard, ask_every_s=0.01))
    desk.write("work/file")
    desk.backup()
    desk.write("work/late")
    ended = run_autobackup(in_job(desk), desk.notify, Autobackup(token="t", job_name=NAME), {})  # noqa: S106 - no secret
    assert (ended.reason, ended.backups) == ("the job was told to end", 1)


def in_job(desk: Desk) -> NodeContext:
    return replace(desk.context, job_id=7)


def test_a_slurm_that_cannot_be_asked_for_a_moment_does_not_end_the_watch() -> None:
    watched = Watched("ended", ends_at=1)
    asks = iter([SlurmUnreachable(host="node-1", reason="`squeue` cannot be started")])
    real = watched.ask

    def ask() -> Allocation:
        if (error := next(asks, None)) is not None:
            raise error
        return real()

    watched.guard._ask = ask
    assert watched.watch() == [TERM]
