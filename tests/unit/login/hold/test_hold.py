"""Holding a node: what is said about one that is held already and does not answer."""

from __future__ import annotations

import signal

import msgspec
import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.login.hold import hold as holding
from scratchflow.login.hold.ask import Ask
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import Allocation, RunningAllocation
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationMissing,
    NodeFailed,
    NodeSilent,
)
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.model.requests import Hold
from scratchflow.process.interrupted import Interrupted
from scratchflow.testing.slurm import FakeClock


def test_a_held_node_that_is_silent_is_kept_and_said_to_be_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = Allocation(job_id=7, name="scratchflow:local:x", state="running", nodes=("node-1",))
    silent = NodeFailed(node="node-1", reason="its sshd does not answer")

    def no_answer(_: str) -> None:
        raise silent

    monkeypatch.setattr(holding, "our_jobs", lambda *_: [held])
    monkeypatch.setattr(holding, "wait_for_sshd", no_answer)
    login = LoginHost(load_settings(Asked(), {}), {}, lambda _: None)
    with pytest.raises(NodeSilent, match="still ours") as caught:
        holding.hold_node(login, Hold())
    assert "`scancel 7` on the login host gives up that node alone" in caught.value.shown_hint


def job(number: int, start: int, state: str = "running") -> Allocation:
    nodes = (f"node-{number}",) if state == "running" else ()
    return Allocation(
        job_id=number,
        name="scratchflow:local:x",
        state=state,  # type: ignore[arg-type]  # one of them
        nodes=nodes,
        start_time=start if nodes else None,
    )


@pytest.mark.parametrize(
    ("others", "kept"),
    [
        ([], 5),
        ([job(4, 100)], 4),  # granted in the same second, and older
        ([job(6, 100)], 5),
        ([job(6, 90)], 6),  # younger, but it was granted first and has seen us wait
        ([job(4, 0, "pending")], 5),
        ([job(9, 1)], 5),  # the one that is moved away from
    ],
)
def test_of_two_runs_at_once_the_first_that_was_granted_keeps_its_node(
    monkeypatch: pytest.MonkeyPatch, others: list[Allocation], kept: int
) -> None:
    ours = job(5, 100).granted()
    assert ours is not None
    monkeypatch.setattr(holding, "our_jobs", lambda *_: [ours, *others])
    monkeypatch.setattr(holding, "_SAME_SECOND_S", 0.01)
    login = LoginHost(load_settings(Asked(), {}), {}, lambda _: None)
    first = holding._first_granted(login, Hold(beside=9), ours)
    assert first.job_id == kept


def test_only_a_node_that_is_held_is_found_and_none_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(holding, "our_jobs", lambda *_: [job(4, 0, "pending")])
    monkeypatch.setattr(Ask, "for_one", lambda _: pytest.fail("asked for a node"))
    login = LoginHost(load_settings(Asked(), {}), {}, lambda _: None)
    with pytest.raises(AllocationMissing):
        holding.hold_node(login, Hold(only_held=True))


def held_or_ended(number: int, state: str) -> Allocation:
    return msgspec.structs.replace(job(number, 100), state=state)


def test_a_job_that_another_run_ended_right_after_its_grant_gives_way_to_that_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = job(5, 100).granted()
    assert ours is not None
    jobs = [held_or_ended(5, "completing"), job(6, 101)]
    monkeypatch.setattr(holding, "our_jobs", lambda *_: jobs)
    monkeypatch.setattr(holding, "_SAME_SECOND_S", 0.01)
    login = LoginHost(load_settings(Asked(), {}), {}, lambda _: None)
    assert holding._first_granted(login, Hold(), ours).job_id == 6


@pytest.mark.parametrize(
    "lost",
    [
        AllocationEnded(job_id=5, reason="`salloc` was ended"),
        TmuxFailed(host="login", reason="can't find pane: %3"),
    ],
)
def test_a_request_that_another_run_ended_waits_for_the_one_that_comes_instead(
    monkeypatch: pytest.MonkeyPatch, lost: ScratchflowError
) -> None:
    """Two runs share one window: the later one ends the request of the earlier, and asks then."""
    fake = FakeClock()
    queue: list[Allocation] = []

    def ended(*_: object) -> RunningAllocation:
        fake.on_sleep = lambda: queue.append(job(6, 100)) if not queue else None
        raise lost

    monkeypatch.setattr(holding, "our_jobs", lambda *_: list(queue))
    monkeypatch.setattr(Ask, "for_one", ended)
    ready: list[int] = []
    monkeypatch.setattr(holding, "_ready", lambda _, got, **__: ready.append(got.job_id))
    login = LoginHost(load_settings(Asked(), {}), {}, lambda _: None, fake.clock)
    holding.hold_node(login, Hold())
    assert ready == [6]


def test_a_request_that_was_cancelled_while_nobody_else_asks_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ended(*_: object) -> RunningAllocation:
        raise AllocationEnded(job_id=5, reason="it was cancelled")

    monkeypatch.setattr(holding, "our_jobs", lambda *_: [])
    monkeypatch.setattr(Ask, "for_one", ended)
    login = LoginHost(load_settings(Asked(), {}), {}, lambda _: None, FakeClock().clock)
    with pytest.raises(AllocationEnded, match="job 5"):
        holding.hold_node(login, Hold())


@pytest.mark.parametrize(
    ("signum", "keep_waiting", "given_back"),
    [(signal.SIGHUP, True, False), (signal.SIGHUP, False, True), (signal.SIGINT, True, True)],
)
def test_a_grant_stays_when_only_the_one_who_waits_for_it_is_gone(
    monkeypatch: pytest.MonkeyPatch, signum: int, keep_waiting: bool, given_back: bool
) -> None:
    got = job(5, 100).granted()
    assert got is not None
    cancelled: list[int] = []
    monkeypatch.setattr(
        holding, "cancel", lambda _slurm, number, _profile: cancelled.append(number)
    )
    login = LoginHost(load_settings(Asked(), {}), {}, lambda _: None)
    asked = Hold(keep_waiting=keep_waiting)
    with pytest.raises(Interrupted), holding._given_back_unless_done(login, asked, got):
        raise Interrupted(signum)
    assert bool(cancelled) == given_back
