"""`status`: the cluster's picture with this machine's alias, mended on request, and the end foretold once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.flows import status as module
from scratchflow.flows.alias import places_of
from scratchflow.flows.status import status, watch, with_alias
from scratchflow.model.events import Event, Status, Warned
from scratchflow.model.results import AutobackupSwitched, StatusShown
from scratchflow.ssh.config.alias import point_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from tests.unit.flows.told import ToldCluster, job, seen


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the flow use this cluster."""

    def use(cluster: ToldCluster) -> ToldCluster:
        @contextmanager
        def cluster_of(*_: object) -> Iterator[ToldCluster]:
            yield cluster

        monkeypatch.setattr(module, "cluster_of", cluster_of)
        return cluster

    return use


def with_alias_at(cluster: ToldCluster, node: str) -> None:
    target = AliasTarget("p", node, "ada", "aws")
    point_alias(places_of(cluster.settings), cluster.settings.profile.alias, target)


def names(shown: StatusShown) -> list[str]:
    return [problem.name for problem in shown.problems]


def test_the_alias_is_this_machines_to_add(tmp_path: Path, use: Any) -> None:
    cluster = use(ToldCluster(tmp_path, {"look": seen(job(1), "session.lost")}))
    with_alias_at(cluster, "node-1")
    shown = status(cluster.caller, cluster.emit)
    assert shown.alias
    assert shown.alias.target == "node-1"
    assert names(shown) == ["session.lost"]


def test_a_job_that_waits_has_no_node_for_the_alias(tmp_path: Path) -> None:
    cluster = ToldCluster(tmp_path, {})
    with_alias_at(cluster, "node-1")
    assert names(with_alias(cluster.settings, seen(job(2, "pending")), cluster.caller)) == [
        "alias.stale"
    ]


def test_nothing_is_mended_unless_it_is_asked_for(tmp_path: Path, use: Any) -> None:
    cluster = use(ToldCluster(tmp_path, {"look": seen(None, "autobackup.overdue")}))
    with_alias_at(cluster, "node-1")
    assert names(status(cluster.caller, cluster.emit)) == ["autobackup.overdue", "alias.stale"]
    assert cluster.done == ["look"]


def test_a_stale_alias_and_a_dead_auto_backup_are_mended_and_looked_at_again(
    tmp_path: Path, use: Any
) -> None:
    answers = {
        "look": [seen(None, "autobackup.overdue"), seen()],
        "autobackup on": switched(),
    }
    cluster = use(ToldCluster(tmp_path, answers))
    with_alias_at(cluster, "node-1")
    shown = status(cluster.caller, cluster.emit, fix=True)
    assert names(shown) == []
    assert shown.alias
    assert shown.alias.parked
    assert cluster.done == ["look", "autobackup on", "look"]


def switched() -> AutobackupSwitched:
    return AutobackupSwitched(enabled=True, changed=True, node="node-1", every_s=1800)


def test_what_cannot_be_mended_here_is_only_looked_at_once(tmp_path: Path, use: Any) -> None:
    cluster = use(
        ToldCluster(tmp_path, {"look": seen(None, "workspace.missing")}, profile='login = "local"')
    )
    status(cluster.caller, cluster.emit, fix=True)
    assert cluster.done == ["look"]


def test_each_mark_before_the_end_is_told_once_and_the_nearest_speaks_for_the_others() -> None:
    said: list[Event] = []
    warned: set[int] = set()
    for left_s in (7200, 3500, 3400, 200, 100):
        module._warn_of_the_end(seen(job(1, seconds_left=left_s)), said.append, warned)
    texts = [event.message for event in said if isinstance(event, Warned)]
    assert texts == ["the allocation ends in 59 min", "the allocation ends in 4 min"]
    module._warn_of_the_end(seen(), said.append, warned)
    module._warn_of_the_end(seen(job(2, seconds_left=3000)), said.append, warned)
    assert len(said) == 3


def test_each_picture_of_a_watch_gets_the_alias(
    tmp_path: Path, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = use(ToldCluster(tmp_path, {}))
    with_alias_at(cluster, "node-9")
    said: list[Event] = []

    def on_login(*_: object, emit: Any) -> StatusShown:
        emit(Status(data=msgspec.to_builtins(seen(job(1, seconds_left=100)))))
        return seen()

    monkeypatch.setattr(cluster, "on_login", on_login)
    watch(cluster.caller, said.append, every_s=5)
    picture, warning = said
    assert isinstance(picture, Status)
    assert picture.data["alias"]["target"] == "node-9"
    assert picture.data["problems"][-1]["name"] == "alias.behind"
    assert isinstance(warning, Warned)
