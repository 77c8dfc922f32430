"""After a set-up a node is taken only if somebody wants one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller
from scratchflow.flows.setup import go_on as module
from scratchflow.flows.setup.go_on import go_on_working
from scratchflow.model.requests import Hold
from scratchflow.model.results.setup import ClusterSetUp
from scratchflow.model.results.up import EditorOpened, UpAndRunning
from tests.unit.flows.setup.answers import NOBODY, Answers

NOW = UpAndRunning(
    job_id=7,
    node="n1",
    end_time=None,
    alias="a",
    workspace=None,
    autobackup=None,
    editor=EditorOpened(path="/w", command=[], link="", opened=False),
    changed=True,
)


class Desk:
    """Notes for which profile `up` was run."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = directory / "config.toml"
        self.file.write_text('[profiles.uni]\nlogin = "aws"\n[profiles.gpu]\nlogin = "aws"\n')
        self.went_up: list[str | None] = []
        monkeypatch.setattr(module, "up", self._up)

    def _up(self, caller: Caller, _: object, request: Hold, *, run_editor: bool) -> UpAndRunning:
        assert not run_editor
        assert not request.dry_run
        self.went_up.append(caller.asked.profile)
        return NOW

    def go_on(self, asker: Answers, *, wanted: bool | None = None, **done: Any) -> ClusterSetUp:
        facts = {"config_diff": "+x", "ssh_config_diff": "", **done}
        asked = Asked(config=str(self.file), overrides=["slurm.gpus=1"])
        caller = Caller(asked, {"HOME": "/h"})
        result = ClusterSetUp(
            profile="gpu", login="aws", reached_by="", agent="", python="", checks=[], **facts
        )
        return go_on_working(caller, lambda _: None, result, asker, wanted=wanted)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def test_a_yes_goes_up_with_the_profile_that_was_set_up(desk: Desk) -> None:
    assert desk.go_on(Answers(True)).up == NOW
    assert desk.went_up == ["gpu"]


@pytest.mark.parametrize("answer", ["", False])
def test_enter_and_a_no_take_no_node(desk: Desk, answer: str | bool) -> None:
    assert desk.go_on(Answers(answer)).up is None
    assert desk.went_up == []


def test_nobody_is_asked_when_nothing_was_saved_or_nobody_is_there(desk: Desk) -> None:
    desk.go_on(Answers(), config_diff="")
    desk.go_on(NOBODY)
    desk.go_on(Answers(agrees=True, can_ask=False))
    assert desk.went_up == []


def test_a_flag_answers_the_question(desk: Desk) -> None:
    desk.go_on(Answers(), wanted=False)
    assert desk.went_up == []
    desk.go_on(NOBODY, wanted=True, config_diff="")
    assert desk.went_up == ["gpu"]


def test_a_dry_run_takes_no_node(desk: Desk) -> None:
    desk.go_on(Answers(), dry_run=True)
    desk.go_on(Answers(), wanted=True, dry_run=True)
    assert desk.went_up == []
