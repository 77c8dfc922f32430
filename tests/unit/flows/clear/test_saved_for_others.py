"""Who gives a node back hears which other profile loses its auto-backup by that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.flows.clear.clear import ClearOptions, clear_on
from scratchflow.flows.hop.hop import _begin
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.events import Warned
from scratchflow.model.results.allocation import NodeReleased
from scratchflow.model.results.backup import AutobackupShown, AutobackupStatus, NodeSaved
from scratchflow.model.results.status import ElsewhereShown, JobsShown
from tests.unit.flows.told import ToldCluster, job

PROFILES = """login = "aws"
store = "/fsx/s"
scratch = "/s/$USER"
[profiles.dos]
login = "aws"
store = "/fsx/s"
scratch = "{scratch}"
"""
OURS = AutobackupShown(enabled=True, every_s=1800)
THEIRS = AutobackupShown(enabled=True, every_s=1800, of_profile="dos")
OFF = AutobackupShown(enabled=False, every_s=1800)


def cluster_of(
    tmp_path: Path,
    *,
    scratch: str = "/s/$USER",
    node: str = "node-1",
    shown: AutobackupShown | Exception = OURS,
) -> ToldCluster:
    theirs = ElsewhereShown(profile="dos", job_id=9, state="running", node=node)
    status: Any = shown
    if isinstance(shown, AutobackupShown):
        status = AutobackupStatus(node="node-1", autobackup=shown)
    answers = {
        "jobs open": JobsShown(jobs=[job(1)], elsewhere=[theirs]),
        "autobackup status": status,
        "save node": NodeSaved(snapshot="a"),
        "release": NodeReleased(job_ids=[1], session_ended=True),
    }
    chosen = {"PATH": "", "HOME": "/h", "SCRATCHFLOW_PROFILE": "p"}
    profile = PROFILES.format(scratch=scratch)
    return ToldCluster(tmp_path, answers, profile=profile, environment=chosen)


def warnings(cluster: ToldCluster) -> list[str]:
    found = [one for one in cluster.told if isinstance(one, Warned)]
    return [one.message for one in found if one.code == "autobackup.ends"]


@pytest.mark.parametrize("verb", ["clear", "hop"])
def test_the_profile_that_relies_on_this_auto_backup_is_named(tmp_path: Path, verb: str) -> None:
    cluster = cluster_of(tmp_path)
    if verb == "clear":
        clear_on(cluster, ClearOptions())
    else:
        _begin(cluster, leave_behind=False)
    (message,) = warnings(cluster)
    assert "the workspace of profile `dos` on `node-1`" in message
    assert "`scratchflow -p dos autobackup on`" in message


@pytest.mark.parametrize("shown", [THEIRS, OFF, StoreUnusable(path="/fsx/s", reason="away")])
def test_none_is_named_where_it_is_not_ours_that_ends(
    tmp_path: Path, shown: AutobackupShown | Exception
) -> None:
    cluster = cluster_of(tmp_path, shown=shown)
    clear_on(cluster, ClearOptions())
    assert warnings(cluster) == []


@pytest.mark.parametrize(("scratch", "node"), [("/other/$USER", "node-1"), ("/s/$USER", "node-2")])
def test_who_works_elsewhere_is_not_asked_about(tmp_path: Path, scratch: str, node: str) -> None:
    cluster = cluster_of(tmp_path, scratch=scratch, node=node)
    clear_on(cluster, ClearOptions())
    assert warnings(cluster) == []
    assert "autobackup status" not in cluster.done
