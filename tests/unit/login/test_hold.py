"""Holding a node: what is said about one that is held already and does not answer."""

from __future__ import annotations

import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.login import hold as holding
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import Allocation
from scratchflow.model.errors import AllocationMissing, NodeFailed, NodeSilent
from scratchflow.model.requests import Hold


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
    assert "clear --no-backup" in caught.value.shown_hint


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
    monkeypatch.setattr(holding, "allocate", lambda *_: pytest.fail("asked for a node"))
    login = LoginHost(load_settings(Asked(), {}), {}, lambda _: None)
    with pytest.raises(AllocationMissing):
        holding.hold_node(login, Hold(only_held=True))
