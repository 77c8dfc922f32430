"""What Slurm is asked for: never the node that is left."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.login.hold import ask as module
from scratchflow.login.hold.ask import Ask
from scratchflow.login.host import LoginHost
from scratchflow.model.errors.allocation import AllocationRefused
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.requests import Hold


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> LoginHost:
    monkeypatch.setattr(module, "steps_overlap", lambda _: True)
    monkeypatch.setattr(module, "cpus_are_bound", lambda _: True)
    monkeypatch.setattr(module, "find_node", lambda _, name: f"node-{name}")
    return LoginHost(load_settings(Asked(), {}), {"HOME": "/h"}, lambda _: None)


def test_what_is_left_or_failed_is_not_asked_for_again(login: LoginHost) -> None:
    ask = Ask(login, Hold(beside=3), ("node-1", "node-2"), avoided="node-4")
    assert ask.request("").options.exclude == "node-1,node-2,node-4"
    assert ask.request("node-3").options.exclude == ""


def test_the_node_that_is_held_cannot_be_moved_to(login: LoginHost) -> None:
    ask = Ask(login, Hold(node="3"), ("node-1",))
    assert ask.node() == "node-3"
    with pytest.raises(UsageInvalid, match="`node-1` is the node that is held already"):
        msgspec.structs.replace(ask, asked=Hold(node="1")).node()


def test_a_refusal_is_explained_with_the_nodes_that_are_left_out(
    login: LoginHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AllocationRefused.of_profile(reason="BadConstraints", profile="p")

    def explained(*given: object) -> AllocationRefused:
        return AllocationRefused(reason=f"without {given[-1]}", next_step="")

    monkeypatch.setattr(module, "allocate", refuse)
    monkeypatch.setattr(module, "submission", lambda *_: None)
    monkeypatch.setattr(module, "explained", explained)
    with pytest.raises(AllocationRefused, match=r"without \('node-2',\)"):
        Ask(login, Hold(beside=3, warm=False), ("node-2",)).for_one()
