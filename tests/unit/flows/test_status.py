"""`status`: the cluster's picture with this machine's alias, mended on request, and the end foretold once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.cli.status_lines import shown as shown_lines
from scratchflow.config.settings import Asked
from scratchflow.flows import status as module
from scratchflow.flows.alias import places_of
from scratchflow.flows.moved import note_move
from scratchflow.flows.status import status, with_alias
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.events import Event, Log, Warned
from scratchflow.model.results.backup import AutobackupSwitched
from scratchflow.model.results.snapshots import SnapshotsListed
from scratchflow.model.results.status import StatusShown
from scratchflow.model.times import iso_time
from scratchflow.ssh.config.alias import park_alias, point_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.include import apply, plan_install
from tests.unit.flows.told import ToldCluster, job, seen


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the flow use this cluster."""

    def use(cluster: ToldCluster) -> ToldCluster:
        @contextmanager
        def cluster_of(*_: object, **__: object) -> Iterator[ToldCluster]:
            yield cluster

        monkeypatch.setattr(module, "cluster_of", cluster_of)
        return cluster

    return use


def with_alias_at(cluster: ToldCluster, node: str) -> None:
    target = AliasTarget("p", node, "ada", "aws")
    apply(plan_install(places_of(cluster.settings)))
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


def test_after_a_hop_to_another_cluster_the_next_step_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    cluster = ToldCluster(tmp_path, {})
    settings = msgspec.structs.replace(cluster.settings, profiles=["p", "b"])
    apply(plan_install(places_of(settings)))
    park_alias(places_of(settings), settings.profile.alias, settings.name)
    note_move("p", "b")
    left = with_alias(settings, seen(None), cluster.caller).next_step
    assert left.startswith("the work went to profile `b` (just now); `scratchflow -p b up`")
    with_alias_at(cluster, "node-1")
    held = with_alias(settings, seen(job(1)), cluster.caller).next_step
    assert held
    assert "went to" not in held


def test_a_job_that_waits_has_no_node_for_the_alias(tmp_path: Path) -> None:
    cluster = ToldCluster(tmp_path, {})
    with_alias_at(cluster, "node-1")
    assert names(with_alias(cluster.settings, seen(job(2, "pending")), cluster.caller)) == [
        "alias.stale"
    ]


def test_what_else_is_configured_is_told_and_a_broken_file_ends_no_watch(tmp_path: Path) -> None:
    cluster = ToldCluster(tmp_path, {})
    file = tmp_path / "two.toml"
    two = '[profiles.p]\nlogin = "aws"\n[profiles.q]\nlogin = "q"\n'
    file.write_text(f'{two}[sync]\nprofiles = ["p", "q"]\nfolders = ["notes"]\n')
    caller = msgspec.structs.replace(cluster.caller, asked=Asked(config=str(file)))
    shown = with_alias(cluster.settings, seen(), caller)
    assert (shown.profiles, shown.syncs) == (2, True)
    file.write_text("[profiles")
    shown = with_alias(cluster.settings, seen(), caller)
    assert (shown.profiles, shown.syncs) == (0, False)


@pytest.mark.parametrize(
    ("store", "told"),
    [("/fsx/store", []), ("$HOME/store", []), ("$PROJECT/store", ["store.moved"])],
)
def test_snapshots_in_another_place_matter_where_a_variable_names_the_store(
    tmp_path: Path, store: str, told: list[str]
) -> None:
    cluster = ToldCluster(tmp_path, {}, profile=f'login = "local"\nstore = "{store}"')
    shown = with_alias(cluster.settings, seen(None, "store.moved"), cluster.caller)
    assert [name for name in names(shown) if name == "store.moved"] == told


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
    for left_s in (7200, 3500, 3400, 599, 200, 100):
        module.warn_of_the_end(seen(job(1, seconds_left=left_s)), said.append, warned)
    texts = [event.message for event in said if isinstance(event, Warned)]
    minutes = [text.removeprefix("the allocation ends in ") for text in texts]
    assert minutes == ["58 min", "9 min", "3 min"]
    module.warn_of_the_end(seen(), said.append, warned)
    module.warn_of_the_end(seen(job(2, seconds_left=3000)), said.append, warned)
    assert len(said) == 4


def test_nobody_is_warned_of_the_end_of_a_short_job_while_more_than_half_of_it_is_left() -> None:
    said: list[Any] = []
    warned: set[int] = set()
    times = {"start_time": "2026-11-16T10:00:00Z", "end_time": "2026-11-16T11:00:00Z"}
    for left_s in (3599, 1801, 901, 890):
        module.warn_of_the_end(seen(job(1, seconds_left=left_s, **times)), said.append, warned)
    assert [one.message for one in said] == ["the allocation ends in 14 min"]
    assert job(1, start_time=times["start_time"], end_time="2026-11-16T10:08:00Z").warn_at_s() == [
        300
    ]


@pytest.mark.parametrize("left_s", [599, 120, 59, 1])
def test_the_warning_and_the_picture_tell_the_same_time(left_s: int) -> None:
    said: list[Any] = []
    end = iso_time(time.time() + left_s)
    picture = seen(job(1, seconds_left=left_s, end_time=end))
    module.warn_of_the_end(picture, said.append, set())
    left = said[0].message.removeprefix("the allocation ends in ")
    assert f"({left} left)" in "\n".join(shown_lines(picture))


def test_after_the_end_no_time_is_told() -> None:
    said: list[Any] = []
    module.warn_of_the_end(seen(job(1, seconds_left=0)), said.append, set())
    assert said[0].message == "the time is up"


@pytest.mark.parametrize("is_away", [False, True])
def test_without_slurm_it_tells_what_is_known_and_fails_all_the_same(
    tmp_path: Path, use: Any, is_away: bool
) -> None:
    slurm = SlurmUnreachable(host="aws", reason="no answer")
    listed = SlurmUnreachable(host="aws", reason="x") if is_away else SnapshotsListed(snapshots=[])
    cluster = use(ToldCluster(tmp_path, {"look": slurm, "snapshots list": listed}))
    with_alias_at(cluster, "node-1")
    with pytest.raises(SlurmUnreachable, match="no answer"):
        status(cluster.caller, cluster.emit)
    said = [one.message for one in cluster.told if isinstance(one, Log)]
    assert said[0].startswith("the alias `compile_machine` leads to `node-1`")
    assert said[1:] == ["the store can be read: it has no snapshot yet"] * (not is_away)
