"""`allocate` takes no node that nobody could get to, and points the alias only at one that is held."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.flows import allocate as module
from scratchflow.flows.alias import places_of
from scratchflow.flows.allocate import allocate, allocate_on
from scratchflow.model.errors.allocation import AllocationRefused
from scratchflow.model.errors.base import EndedBySignal
from scratchflow.model.errors.ssh import AliasIsLoginHost, AliasUnused
from scratchflow.model.requests import Hold
from scratchflow.model.results.allocation import NodeHeld
from scratchflow.process.interrupted import Interrupted
from scratchflow.ssh.config import include
from scratchflow.ssh.config.alias import park_alias
from tests.unit.flows.told import ToldCluster, give

HELD = NodeHeld(
    job_id=7,
    node="node-1",
    partition="dev",
    end_time=None,
    reused=True,
    warm="s",
    user="ada",
    host_keys=[],
    session=None,
)


@pytest.fixture
def pointed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the alias was pointed at, and verified for, in this order."""
    calls: list[str] = []
    monkeypatch.setattr(module, "point_at", lambda _, held, *__: calls.append(f"at {held.node}"))
    monkeypatch.setattr(module, "verify", lambda _, node, __, **___: calls.append(f"to {node}"))
    return calls


def with_alias(cluster: ToldCluster) -> ToldCluster:
    park_alias(places_of(cluster.settings), cluster.settings.profile.alias)
    return cluster


def test_a_laptop_without_the_alias_takes_no_node(tmp_path: Path, pointed: list[str]) -> None:
    cluster = ToldCluster(tmp_path, {"hold": HELD})
    with pytest.raises(AliasUnused):
        allocate_on(cluster, Hold())
    assert (cluster.done, pointed) == ([], [])


def test_an_alias_that_is_the_login_host_takes_no_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = 'login = "aws"\nalias = "aws"'
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, {}, profile=profile))
    with pytest.raises(AliasIsLoginHost):
        allocate(cluster.caller, cluster.emit, Hold())
    assert cluster.done == []
    assert not places_of(cluster.settings).alias_file("aws").exists()


def test_the_alias_is_pointed_and_then_tried(tmp_path: Path, pointed: list[str]) -> None:
    cluster = with_alias(ToldCluster(tmp_path, {"hold": HELD}))
    done = allocate_on(cluster, Hold(node="node-1"))
    assert pointed == ["at node-1", "to node-1"]
    assert (done.job_id, done.alias, done.reused, done.warm) == (7, "compile_machine", True, "s")
    assert cluster.asked == [("hold", Hold(node="node-1"), None)]


def test_a_login_host_does_without_the_alias(tmp_path: Path, pointed: list[str]) -> None:
    cluster = ToldCluster(tmp_path, {"hold": HELD}, profile='login = "local"')
    assert allocate_on(cluster, Hold()).alias is None
    assert pointed == []


def test_a_dry_run_leaves_the_alias_alone(tmp_path: Path, pointed: list[str]) -> None:
    asked = msgspec.structs.replace(HELD, dry_run=True, command="salloc …")
    cluster = with_alias(ToldCluster(tmp_path, {"hold": asked}))
    done = allocate_on(cluster, Hold(dry_run=True))
    assert (done.command, done.dry_run, pointed) == ("salloc …", True, [])


def test_a_dry_run_makes_no_file_for_an_alias_that_has_none(
    tmp_path: Path, pointed: list[str]
) -> None:
    foretold = msgspec.structs.replace(HELD, dry_run=True, command="salloc …")
    cluster = ToldCluster(tmp_path, {"hold": foretold})
    include.apply(include.plan_install(places_of(cluster.settings)))
    before = sorted(tmp_path.rglob("*"))
    done = allocate_on(cluster, Hold(dry_run=True))
    assert (done.alias, pointed) == ("compile_machine", [])
    assert sorted(tmp_path.rglob("*")) == before


def test_a_refusal_leaves_the_alias_parked(tmp_path: Path, pointed: list[str]) -> None:
    cluster = with_alias(
        ToldCluster(tmp_path, {"hold": AllocationRefused(reason="no", next_step="x")})
    )
    with pytest.raises(AllocationRefused):
        allocate_on(cluster, Hold())
    assert pointed == []


def test_without_a_scheduler_no_cluster_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, {}, profile='scheduler = "none"'))

    class NoSession:
        """A machine on which no session runs; starting one is an error."""

        def session(self, _: str) -> None:
            return None

    monkeypatch.setattr("scratchflow.login.host.LoginHost.tmux", NoSession())
    done: Any = allocate(cluster.caller, cluster.emit, Hold(dry_run=True))
    assert (done.job_id, done.reused, done.alias, cluster.done) == (None, False, None, [])
    assert "new-session" in done.command


def test_ctrl_c_after_the_node_was_taken_says_that_it_stays(
    tmp_path: Path, pointed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(module, "verify", interrupted)
    cluster = with_alias(ToldCluster(tmp_path, {"hold": HELD}))
    with pytest.raises(EndedBySignal) as caught:
        allocate_on(cluster, Hold())
    assert pointed == ["at node-1"]
    assert str(caught.value).startswith("Cancelled. `node-1` (job 7) stays ours:")
    assert caught.value.exit_code == 130
