"""A request for a node that is interrupted: what is said of it afterwards is what became of it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scratchflow.flows import hold as module
from scratchflow.flows.hold import hold
from scratchflow.model.errors.base import EndedBySignal
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.events import State
from scratchflow.model.requests import Arguments, Hold, Release
from scratchflow.model.results.allocation import NodeReleased
from scratchflow.model.results.status import JobsShown
from scratchflow.process.interrupted import Interrupted
from tests.unit.flows.test_allocate import HELD
from tests.unit.flows.told import ToldCluster, job

WAITS = State(state="pending", previous=None, job_id=7)
GONE = JobsShown(jobs=[job(8)])
THERE = JobsShown(jobs=[job(7, "pending"), job(8)])


class Waiting(ToldCluster):
    """Tells these states while it waits; then comes a signal, or the node."""

    def __init__(
        self, directory: Path, states: Sequence[State], jobs: Any, *, signum: int = 0
    ) -> None:
        released = NodeReleased(job_ids=[7], session_ended=False)
        super().__init__(directory, {"hold": HELD, "jobs open": jobs, "release": released})
        self._states = states
        self._signum = signum

    def on_login(self, do: str, request: Arguments, kind: Any, **options: Any) -> Any:
        if do == "hold":
            for state in self._states:
                options["emit"](state)
            if self._signum:
                raise Interrupted(self._signum)
        return super().on_login(do, request, kind)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOK_S", 0.0)


def ended(cluster: Waiting, *, keep_waiting: bool = False) -> str:
    with pytest.raises(EndedBySignal) as caught:
        hold(cluster, Hold(keep_waiting=keep_waiting))
    return str(caught.value)


def test_a_node_that_came_is_handed_on_with_every_state(tmp_path: Path) -> None:
    cluster = Waiting(tmp_path, [WAITS], [])
    assert hold(cluster, Hold()) == HELD
    assert cluster.told == [WAITS]
    assert cluster.done == ["hold"]


def test_it_is_withdrawn_when_slurm_no_longer_has_it(tmp_path: Path) -> None:
    cluster = Waiting(tmp_path, [WAITS], [THERE, THERE, GONE], signum=signal.SIGINT)
    assert ended(cluster) == "Cancelled. The request (job 7) was withdrawn."
    assert cluster.done == ["jobs open"] * 3


def test_the_signal_is_the_exit_code(tmp_path: Path) -> None:
    cluster = Waiting(tmp_path, [WAITS], [GONE], signum=signal.SIGTERM)
    with pytest.raises(EndedBySignal) as caught:
        hold(cluster, Hold())
    assert caught.value.exit_code == 128 + signal.SIGTERM


@pytest.mark.parametrize("answer", [THERE, SlurmUnreachable(host="aws", reason="down")])
def test_nothing_is_claimed_that_was_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    monkeypatch.setattr(module, "_WITHDRAW_S", 0.0)
    said = ended(Waiting(tmp_path, [WAITS], answer, signum=signal.SIGINT))
    assert "Job 7 may still be in the queue" in said
    assert "withdrawn" not in said


def test_a_request_of_an_earlier_run_stays_and_the_way_out_is_told(tmp_path: Path) -> None:
    resumed = State(state="pending", previous=None, job_id=7, resumed=True)
    cluster = Waiting(tmp_path, [resumed], [], signum=signal.SIGINT)
    said = ended(cluster)
    assert "Job 7 stays in the queue" in said
    assert "`scratchflow clear --pending`" in said
    assert cluster.done == []


@pytest.mark.parametrize("states", [[], [State(state="asking", previous=None)]])
def test_before_there_is_a_job_there_is_nothing_to_say(tmp_path: Path, states: list[State]) -> None:
    with pytest.raises(Interrupted):
        hold(Waiting(tmp_path, states, [], signum=signal.SIGINT), Hold())


def test_ctrl_c_withdraws_a_request_that_a_lost_connection_would_leave(tmp_path: Path) -> None:
    cluster = Waiting(tmp_path, [WAITS], [GONE], signum=signal.SIGINT)
    said = ended(cluster, keep_waiting=True)
    assert said == "Cancelled. The request (job 7) was withdrawn."
    assert cluster.asked[0][:2] == ("release", Release(job_ids=(7,)))


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_with_keep_waiting_a_closed_window_leaves_the_request(tmp_path: Path, signum: int) -> None:
    cluster = Waiting(tmp_path, [WAITS], [], signum=signum)
    said = ended(cluster, keep_waiting=True)
    assert "Job 7 stays in the queue; `scratchflow clear --pending` withdraws it." in said
    assert cluster.done == []
