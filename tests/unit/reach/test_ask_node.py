"""A node without our agent gets it and is asked once more; a node that is lost is named as the cause."""

from __future__ import annotations

from typing import Any

import pytest

from scratchflow.agent.request import asking
from scratchflow.config.settings import Asked, load_settings
from scratchflow.model.allocation import Allocation, AllocationState, RunningAllocation
from scratchflow.model.errors.agent import AgentMissing
from scratchflow.model.errors.allocation import AllocationEnded, NodeSilent
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.reach import node_agent
from scratchflow.reach.node import JobStep

HELD = RunningAllocation(job_id=7, name="scratchflow:aws:abc", state="running", nodes=("node-1",))
REQUEST = asking("backup", {}, profile_name="aws", profile={})
MISSING = AgentMissing(host="node-1", reason="exit code 127: sh: not found")
LOST = ConnectionLost(host="node-1", reason="its agent ended before it was done")


class Node:
    """What the node says, one answer after the other; `installed` counts the agents it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
        self._answers = list(answers)
        self.installed = 0
        self.state: AllocationState = "running"
        monkeypatch.setattr(node_agent, "call", self._call)
        monkeypatch.setattr(node_agent, "install_for", self._install)
        monkeypatch.setattr(node_agent, "job", self._job)

    def ask(self) -> dict[str, object]:
        settings = load_settings(Asked(), {})
        step = JobStep(HELD, {})
        return node_agent.ask_node(step, REQUEST, lambda _: None, settings, None)  # type: ignore[arg-type]  # nobody asks Slurm

    def _call(self, *_: object, **__: object) -> Any:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _install(self, *_: object) -> None:
        self.installed += 1

    def _job(self, *_: object) -> Allocation:
        return Allocation(job_id=7, name=HELD.name, state=self.state, cause="cancelled")


def test_a_missing_agent_is_installed_and_asked_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(monkeypatch, MISSING, {"snapshot": "x"})
    assert node.ask() == {"snapshot": "x"}
    assert node.installed == 1


def test_no_agent_is_installed_for_a_job_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(monkeypatch, MISSING)
    node.state = "ended"
    with pytest.raises(AllocationEnded):
        node.ask()
    assert node.installed == 0


@pytest.mark.parametrize("answers", [(LOST,), (MISSING, LOST), (MISSING, MISSING)])
def test_a_node_that_does_not_answer_is_named(
    monkeypatch: pytest.MonkeyPatch, answers: tuple[Exception, ...]
) -> None:
    with pytest.raises(NodeSilent, match="node-1"):
        Node(monkeypatch, *answers).ask()
