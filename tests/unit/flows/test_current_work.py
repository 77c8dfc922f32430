"""Which node has the user's present work: told by a dry run there, never by changing anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.flows.current_work import has_present_work, newer_than
from scratchflow.model.errors.restore import RestoreIncomplete, TargetNotEmpty, WorkspaceOfOther
from scratchflow.model.errors.store import StoreLocked
from scratchflow.model.requests import Settle
from scratchflow.model.results.restore import Settled
from tests.unit.flows.told import ToldCluster


def settled(action: Any, snapshot: str | None = None) -> Settled:
    return Settled(action=action, path="/w", snapshot=snapshot)


@pytest.mark.parametrize(
    ("answer", "newer"),
    [
        (settled("nothing", "base"), None),
        (settled("restored", "newest"), "newest"),
        (settled("created"), None),
        (TargetNotEmpty(target="/w"), None),
        (WorkspaceOfOther(path="/w", profile="login", job="", own_scratch="/s"), None),
    ],
)
def test_a_node_lacks_the_present_work_when_something_would_be_brought(
    tmp_path: Path, answer: object, newer: str | None
) -> None:
    cluster = ToldCluster(tmp_path, {"settle": answer})
    assert newer_than(cluster, 7) == newer
    assert has_present_work(cluster, 7) is (newer is None)
    assert cluster.asked == [("settle", Settle(dry_run=True), 7)] * 2


def test_half_of_two_states_is_not_the_present_work(tmp_path: Path) -> None:
    cluster = ToldCluster(tmp_path, {"settle": RestoreIncomplete(snapshot="s", target="/w")})
    assert not has_present_work(cluster, 7)
    with pytest.raises(RestoreIncomplete):
        newer_than(cluster, 7)


def test_what_nobody_knows_is_no_answer(tmp_path: Path) -> None:
    cluster = ToldCluster(tmp_path, {"settle": StoreLocked(owner="x")})
    with pytest.raises(StoreLocked):
        has_present_work(cluster, 7)
