"""What `--fix` does: only what the problems call for, and nothing that takes a node or removes a byte."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.flows.alias import places_of, show_alias
from scratchflow.flows.mend import mend
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.model.events import Log
from scratchflow.model.requests import Hold
from scratchflow.model.results.backup import AutobackupSwitched
from scratchflow.model.results.run import SessionReady
from scratchflow.ssh.config.alias import point_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.include import apply, is_installed, plan_install
from tests.unit.flows.test_allocate import HELD
from tests.unit.flows.told import ToldCluster

SWITCHED = AutobackupSwitched(enabled=True, changed=True, node="node-1", every_s=1800)
SESSION = SessionReady(session="s", host="login1", is_here=True, argv=["tmux"])
ANSWERS = {
    "hold": msgspec.structs.replace(HELD, node="node-2"),
    "autobackup on": SWITCHED,
    "session": SESSION,
}


@pytest.fixture
def cluster(tmp_path: Path) -> ToldCluster:
    """One whose alias leads to `node-1`."""
    cluster = ToldCluster(tmp_path, ANSWERS)
    places = places_of(cluster.settings)
    apply(plan_install(places))
    point_alias(places, cluster.settings.profile.alias, AliasTarget("p", "node-1", "ada", "aws"))
    return cluster


def leads_to(cluster: ToldCluster) -> str | None:
    alias = show_alias(cluster.settings)
    assert alias
    return None if alias.parked else alias.target


def test_a_stale_alias_is_parked_once(cluster: ToldCluster) -> None:
    assert mend(cluster, {"alias.stale"}) == ["parked `compile_machine`"]
    assert leads_to(cluster) is None
    assert cluster.done == []


def test_an_alias_that_ssh_does_not_read_is_read_again(cluster: ToldCluster) -> None:
    config = places_of(cluster.settings).config
    config.write_bytes(b"")
    told = [f"put scratchflow's lines back to the top of `{config}`"]
    assert mend(cluster, {"alias.unread"}) == told
    assert is_installed(places_of(cluster.settings))
    assert cluster.done == []


def test_an_alias_that_only_ssh_knows_to_lead_elsewhere_is_read_again(cluster: ToldCluster) -> None:
    config = places_of(cluster.settings).config
    own = "Match exec true\n  HostName 10.9.9.9\nMatch all\n"
    config.write_text(own + config.read_text())
    assert mend(cluster, set()) == [f"put scratchflow's lines back to the top of `{config}`"]
    assert config.read_text().endswith(own)


def test_an_ssh_config_that_may_not_be_changed_leaves_nothing_else_unmended(
    cluster: ToldCluster,
) -> None:
    config = places_of(cluster.settings).config
    config.write_bytes(b"")
    config.chmod(0o400)
    with pytest.raises(SshConfigRefused, match="it is read-only"):
        mend(cluster, {"alias.unread", "session.lost"})
    assert cluster.done == ["session"]
    assert config.read_bytes() == b""


def test_an_alias_that_is_behind_follows_a_node_that_is_held_and_takes_none(
    cluster: ToldCluster,
) -> None:
    assert mend(cluster, {"alias.behind"}) == ["pointed `compile_machine` at `node-2`"]
    assert leads_to(cluster) == "node-2"
    assert cluster.asked == [("hold", Hold(only_held=True), None)]


@pytest.mark.parametrize(
    "problems",
    [
        {"overdue"},
        {"unknown"},
        {"other_settings"},
        {"missing"},
        {"overdue", "unknown", "other_settings"},
    ],
    ids=len,
)
def test_the_auto_backup_is_started_once_whatever_is_wrong_with_it(
    cluster: ToldCluster, problems: set[str]
) -> None:
    done = mend(cluster, {f"autobackup.{problem}" for problem in problems})
    assert done == ["started the auto-backup again"]
    assert cluster.done == ["autobackup on"]


def test_all_at_once_is_told_as_it_is_done(cluster: ToldCluster) -> None:
    done = mend(cluster, {"session.lost", "autobackup.overdue", "alias.behind"})
    assert cluster.done == ["hold", "autobackup on", "session"]
    assert [event.message for event in cluster.told if isinstance(event, Log)] == done
    assert len(done) == 3


def test_what_could_lose_something_is_left_to_the_user(cluster: ToldCluster) -> None:
    problems = {"workspace.missing", "store.lost", "restore.unfinished", "snapshots.damaged"}
    assert mend(cluster, problems) == []
    assert (cluster.done, cluster.told, leads_to(cluster)) == ([], [], "node-1")


def test_where_there_is_no_alias_none_is_made(tmp_path: Path) -> None:
    cluster = ToldCluster(tmp_path, {})
    assert mend(cluster, {"alias.stale", "alias.behind"}) == []
    assert show_alias(cluster.settings) is None


def test_a_node_that_went_meanwhile_leaves_the_alias_as_it_was(cluster: ToldCluster) -> None:
    cluster._answers["hold"] = AllocationMissing(profile="p")
    with pytest.raises(AllocationMissing):
        mend(cluster, {"alias.behind"})
    assert leads_to(cluster) == "node-1"
