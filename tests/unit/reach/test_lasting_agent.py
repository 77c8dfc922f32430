"""An agent that outlives whoever started it: found again, and signalled only while it is one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.allocation import NodeSilent
from scratchflow.process.child import Completed
from scratchflow.process.waiting import looks
from scratchflow.reach import lasting_agent
from scratchflow.reach.lasting_agent import AgentAt

HELD = RunningAllocation(job_id=7, name="n", state="running", nodes=("node-1",))


def agent_at(
    held: RunningAllocation | None, *, step_id: int | None = None, pid: int = 0
) -> AgentAt:
    return AgentAt(held, "p", os.environ, step_id=step_id, pid=pid)


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1000)", *words]
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def test_on_this_machine_its_process_is_looked_at() -> None:
    with process("agent") as started:
        agent = agent_at(None, pid=started.pid)
        assert any(agent.runs() for _ in looks(10, 0.01))  # its words are there a moment after it
        agent.signal("USR1")
        assert started.wait() == -signal.SIGUSR1
        assert agent.runs() is False


def test_a_number_that_another_program_has_by_now_is_left_alone() -> None:
    with process("other") as started:
        agent = agent_at(None, pid=started.pid)
        assert agent.runs() is False
        agent.signal("KILL")
        assert started.poll() is None


def test_of_a_step_slurm_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[Any, ...]] = []
    monkeypatch.setattr(lasting_agent, "step_runs", lambda _, job, step: said.append((job, step)))
    monkeypatch.setattr(lasting_agent, "signal_step", lambda _, *words: said.append(words))
    agent = agent_at(HELD, step_id=3)
    assert agent.runs() is None
    agent.signal("USR1")
    assert said == [(7, 3), (7, 3, "USR1")]


@pytest.mark.parametrize(("code", "runs"), [(0, True), (1, False), (255, None)])
def test_over_ssh_the_node_is_asked(
    monkeypatch: pytest.MonkeyPatch, code: int, runs: bool | None
) -> None:
    class Node:
        def __init__(self, *_: object) -> None: ...

        def run(self, argv: Sequence[str], *, timeout_s: float) -> Completed:
            assert (argv[-2:], timeout_s > 0) == (["12", "0"], True)
            return Completed(code)

    monkeypatch.setattr(lasting_agent, "NodeSsh", Node)
    assert agent_at(HELD, pid=12).runs() is runs


def test_a_node_that_does_not_answer_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> None:
        raise NodeSilent(node="node-1", job_id=7, reason="x")

    monkeypatch.setattr(lasting_agent, "NodeSsh", silent)
    assert agent_at(HELD, pid=12).runs() is None
