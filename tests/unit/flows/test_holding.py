"""Holding a node: what is said about one that is held already and does not answer."""

from __future__ import annotations

import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.flows import holding
from scratchflow.flows.login_host import LoginHost
from scratchflow.flows.wishes import Hold
from scratchflow.model.allocation import Allocation
from scratchflow.model.errors import NodeFailed, NodeSilent


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
