"""A request to the node, while Slurm gives the job no step yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.agent.request import asking
from scratchflow.model.allocation import Allocation, AllocationState, RunningAllocation
from scratchflow.model.errors.agent import AgentMissing
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationMissing,
    AllocationWaiting,
    NodeSilent,
)
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.reach import node_agent
from scratchflow.reach.node import JobStep
from scratchflow.reach.node_watch import NodeWatch
from scratchflow.workspace.current_job import note_path

HELD = RunningAllocation(job_id=7, name="scratchflow:aws:abc", state="running", nodes=("node-1",))
REFUSED = "exit code 1: srun: error: Unable to create step for job 7: Memory required by task is not available"
REQUEST = asking("backup", {}, profile_name="aws", profile={})


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the node says, one after the other."""
    said: list[Any] = []

    def call(watch: NodeWatch, *_: object, **__: object) -> Any:
        answer = said.pop(0)
        if isinstance(answer, str):
            watch.given_up = answer
            raise ConnectionLost(host="node-1", reason="its agent ended before it was done")
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(node_agent, "call", call)
    monkeypatch.setattr(node_agent, "_AGAIN_S", 0.0)
    return said


def job_is(monkeypatch: pytest.MonkeyPatch, state: AllocationState) -> None:
    found = Allocation(job_id=7, name=HELD.name, state=state, nodes=HELD.nodes, cause="cancelled")
    monkeypatch.setattr(node_agent, "job", lambda *_: found)


def ask() -> dict[str, object]:
    node = JobStep(HELD, {})
    return node_agent._call(node, REQUEST, lambda _: None, None)  # type: ignore[arg-type]


def missing(reason: str) -> AgentMissing:
    return AgentMissing(host="node-1", reason=reason)


def test_a_step_that_slurm_does_not_give_yet_is_asked_for_again(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job_is(monkeypatch, "running")
    answers += [missing(REFUSED), missing(REFUSED), {"snapshot": "x"}]
    assert ask() == {"snapshot": "x"}


def test_a_job_that_has_ended_meanwhile_is_not_waited_for(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job_is(monkeypatch, "ended")
    answers += [missing(REFUSED)]
    with pytest.raises(AllocationEnded):
        ask()


def test_it_is_not_asked_for_ever(answers: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    job_is(monkeypatch, "running")
    monkeypatch.setattr(node_agent, "STEP_WAIT_S", -1.0)
    answers += [missing(REFUSED)]
    with pytest.raises(AgentMissing):
        ask()


def test_any_other_silence_is_told_at_once(answers: list[Any]) -> None:
    answers += [missing("exit code 127: sh: not found")]
    with pytest.raises(AgentMissing, match="not found"):
        ask()


def test_a_node_that_was_given_up_is_said_to_be_silent_or_its_job_to_be_over(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    job_is(monkeypatch, "running")
    answers.append("what was started there is gone")
    with pytest.raises(NodeSilent, match="what was started there is gone"):
        ask()
    job_is(monkeypatch, "ended")
    answers.append("its job has ended")
    with pytest.raises(AllocationEnded):
        ask()


def jobs_are(monkeypatch: pytest.MonkeyPatch, *jobs: Allocation) -> None:
    monkeypatch.setattr(node_agent, "our_jobs", lambda *_, **__: list(jobs))


def test_a_job_that_was_asked_for_by_number_and_forgotten_is_not_told_as_no_allocation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jobs_are(monkeypatch, HELD)
    slurm: Any = None
    assert node_agent.require_allocation(slurm, "aws", tmp_path, 7) == HELD
    with pytest.raises(AllocationEnded, match="job 8 has ended: Slurm no longer knows it"):
        node_agent.require_allocation(slurm, "aws", tmp_path, 8)
    over = msgspec.structs.replace(HELD, job_id=8, state="ended", cause="timeout")
    jobs_are(monkeypatch, HELD, over)
    with pytest.raises(AllocationEnded, match="job 8 has ended: its time"):
        node_agent.require_allocation(slurm, "aws", tmp_path, 8)


def test_of_two_jobs_the_one_that_is_worked_in_is_meant(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    younger = msgspec.structs.replace(HELD, job_id=8, nodes=("node-2",))
    jobs_are(monkeypatch, HELD, younger)
    slurm: Any = None
    assert node_agent.require_allocation(slurm, "aws", tmp_path) == younger
    note = note_path(tmp_path, "aws")
    note.parent.mkdir(parents=True)
    for text, meant in (("7\n", HELD), ("8\n", younger), ("6\n", younger), ("x", younger)):
        note.write_text(text)
        assert node_agent.require_allocation(slurm, "aws", tmp_path) == meant
        assert node_agent.require_allocation(slurm, "aws", tmp_path, 8) == younger


def test_without_a_job_there_is_no_allocation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jobs_are(monkeypatch)
    slurm: Any = None
    with pytest.raises(AllocationMissing):
        node_agent.require_allocation(slurm, "aws", tmp_path)


def test_while_the_request_waits_that_is_told_with_the_job_and_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    why = "it waits for free nodes (Resources)"
    waits = msgspec.structs.replace(HELD, job_id=19, state="pending", nodes=(), reason_text=why)
    jobs_are(monkeypatch, waits)
    slurm: Any = None
    for job_id in (None, 19):
        with pytest.raises(AllocationWaiting, match="job 19 is still waiting for a node: it waits"):
            node_agent.require_allocation(slurm, "aws", tmp_path, job_id)
    jobs_are(monkeypatch, HELD, waits)
    assert node_agent.require_allocation(slurm, "aws", tmp_path) == HELD
