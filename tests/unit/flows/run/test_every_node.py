"""One command on every node: its codes, and what is said when it ended with its job."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from scratchflow.flows.run.every_node import EveryNode
from scratchflow.model.events import Warned
from scratchflow.model.results.run import OtherCarrier, RunPlace
from scratchflow.process.far_words import Way, followed_argv
from tests.unit.flows.run.test_ended import CARRIER
from tests.unit.flows.run.test_foreground import ENDED
from tests.unit.flows.told import ToldCluster

FOUND = msgspec.structs.replace(CARRIER, others=[OtherCarrier(node="m", argv=[])])


def every_node(cluster: ToldCluster, script: str) -> EveryNode:
    """Both nodes are this machine."""
    words = [b"sh", b"-c", script.encode()]
    start: Any = SimpleNamespace(
        cluster=cluster,
        found=FOUND,
        environment=os.environ,
        way=lambda carrier: Way([], carrier, quotes=False),
        followed=lambda _, token: followed_argv(token, b"/", b"", words),
    )
    place = RunPlace(directory="/")
    return EveryNode(start, msgspec.structs.replace(place, others={"m": place}))


@pytest.mark.parametrize(
    ("answers", "told"), [(ENDED, ["run.job_ended"]), ({"run carrier": FOUND}, [])]
)
def test_a_command_that_ended_with_its_job_says_so_once(
    tmp_path: Path, answers: dict[str, Any], told: list[str]
) -> None:
    cluster = ToldCluster(tmp_path, answers)
    assert every_node(cluster, "kill -TERM $$").codes() == {"n": 143, "m": 143}
    assert [one.code for one in cluster.told if isinstance(one, Warned)] == told


def test_a_command_that_ends_by_itself_asks_nobody(tmp_path: Path) -> None:
    cluster = ToldCluster(tmp_path, {})
    assert every_node(cluster, "exit 7").codes() == {"n": 7, "m": 7}
    assert (cluster.told, cluster.asked) == ([], [])
