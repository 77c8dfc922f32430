"""One question to a node: an answer, or a reason in the time that was given."""

from __future__ import annotations

import time

import pytest

from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.results.backup import CopyState
from scratchflow.reach import node_question as module
from scratchflow.reach.node_question import NodeQuestion, wait_for
from tests.unit.conftest import Desk
from tests.unit.login.test_copies import HELD, Here


def asked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, answer: CopyState | None, within_s: float
) -> NodeQuestion:
    monkeypatch.setattr(module, "node_transport", lambda held, *_: Here(held, answer))
    environment = {"HOME": str(desk.scratch.parent), "PATH": "", "USER": "u"}
    question = NodeQuestion("copy", desk.context.settings, HELD.on("node-2"), environment)
    wait_for([question], within_s)
    return question


def test_an_answer_is_what_the_agent_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    question = asked(desk, monkeypatch, CopyState(base="b", changed=3), 60)
    assert (question.node, question.reason) == ("node-2", "")
    assert question.answer is not None
    assert question.answer["changed"] == 3


def test_a_silent_node_is_given_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    question = asked(desk, monkeypatch, None, 0.2)
    assert (question.answer, question.reason) == (None, "it took longer than 0.2 s")


@pytest.mark.slow
def test_a_node_that_is_reached_too_late_is_asked_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[str] = []

    def slow(*_: object, **__: object) -> str:
        time.sleep(0.3)
        return ""

    def reach(*_: object) -> Here:
        reached.append("reached")
        return Here(HELD, None)

    monkeypatch.setattr(module, "scratch_of_job", slow)
    monkeypatch.setattr(module, "node_transport", reach)
    question = NodeQuestion("copy", desk.context.settings, HELD, {"HOME": "/", "PATH": ""})
    wait_for([question], 0.05)
    wait_for([question], 60)
    assert reached == []
    assert question.reason == "it took longer than 0.05 s"


def test_an_error_on_the_way_is_a_reason(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> str:
        raise SlurmUnreachable(host="login", reason="no answer")

    monkeypatch.setattr(module, "scratch_of_job", away)
    assert "no answer" in asked(desk, monkeypatch, None, 60).reason
