"""Another workspace on a node is its profile's, and that profile may still work in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from scratchflow.flows.clear.clear import ClearOptions, clear_on
from scratchflow.flows.clear.whose_workspace import Owner, holder_of, owners_of
from scratchflow.model.events import Log
from scratchflow.model.results.allocation import NodeReleased
from scratchflow.model.results.backup import NodeSaved
from scratchflow.model.results.status import ElsewhereShown, JobsShown
from scratchflow.model.text import what_brings
from tests.unit.flows.told import ToldCluster, job

OTHERS = """login = "aws"
store = "/fsx/s"
[profiles.tl]
login = "aws"
workspace = "work_tl"
store = "{store}"
[profiles.far]
login = "elsewhere"
workspace = "work_tl"
store = "/fsx/s"
"""
SAVED = NodeSaved(
    snapshot="a", others={"work_tl": "b", "mine": "c"}, own_others=["mine"], debug_copies=["/s/d"]
)


def cluster_with(
    tmp_path: Path, store: str = "/fsx/s", answers: Mapping[str, object] | None = None
) -> ToldCluster:
    chosen = {"PATH": "", "HOME": "/h", "SCRATCHFLOW_PROFILE": "p"}
    profile = OTHERS.format(store=store)
    return ToldCluster(tmp_path, answers or {}, profile=profile, environment=chosen)


def held(node: str) -> ElsewhereShown:
    return ElsewhereShown(profile="tl", job_id=9, state="running", node=node, end_time=None)


@pytest.mark.parametrize(
    ("elsewhere", "owner"),
    [
        ([], Owner("tl")),
        ([held("node-1")], Owner("tl", is_there=True, has_node=True)),
        ([held("node-2")], Owner("tl", has_node=True)),
    ],
)
def test_it_is_the_profiles_of_that_name_store_and_cluster(
    tmp_path: Path, elsewhere: list[ElsewhereShown], owner: Owner
) -> None:
    cluster = cluster_with(tmp_path)
    assert owners_of(cluster, "node-1", SAVED, elsewhere) == {"work_tl": owner}


def test_one_of_another_store_is_another_profiles(tmp_path: Path) -> None:
    assert owners_of(cluster_with(tmp_path, "/fsx/t"), "node-1", SAVED, []) == {}
    there = NodeSaved(snapshot="a", others={"work_tl": "b"}, other_stores={"work_tl": "/fsx/t"})
    found = owners_of(cluster_with(tmp_path, "/fsx/t"), "node-1", there, [])
    assert found == {"work_tl": Owner("tl")}


def test_what_brings_it_is_a_command_of_that_profile() -> None:
    def said(
        profile: str, *, is_there: bool = False, has_node: bool = False, fork: str = ""
    ) -> str:
        return what_brings("own", profile, is_there=is_there, has_node=has_node, fork=fork)

    assert said("") == "`own` brings it"
    assert said("tl") == "`scratchflow -p tl up` brings it"
    assert said("tl", has_node=True) == "`scratchflow -p tl restore` brings it"
    assert said("tl", fork="b").startswith("`scratchflow -p tl restore b` brings it to a node")
    assert said("tl", is_there=True) == "profile `tl` still works in it there"


def test_clear_says_whose_it_is_and_who_holds_the_node(tmp_path: Path) -> None:
    cluster = cluster_with(
        tmp_path,
        answers={
            "jobs open": JobsShown(jobs=[job(1)], elsewhere=[held("node-1")]),
            "save node": SAVED,
            "release": NodeReleased(job_ids=[1], session_ended=True),
        },
    )
    done = clear_on(cluster, ClearOptions())
    assert (done.other_profiles, done.still_used) == ({"work_tl": "tl"}, ["work_tl"])
    words = " ".join(one.message for one in cluster.told if isinstance(one, Log))
    assert "profile `tl` still holds that node" in words
    assert holder_of("node-9", [held("node-1")]) == ""
