"""`hop`, step by step: what is asked, saved, brought and said."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from scratchflow.flows.clear.last_backup import SavedCopy
from scratchflow.flows.hop import hop as flow
from scratchflow.flows.hop.move import Move
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationPending,
    AllocationWaiting,
    NodeNotSaved,
    NodeSilent,
    NodeUnknown,
)
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.errors.workspace import WorkspaceAtFormerScratch
from scratchflow.model.events import Log, Warned
from scratchflow.model.profile import EnvironmentOptions, Profile
from scratchflow.model.requests import Hold, Settle
from scratchflow.model.results.allocation import NodeHeld
from scratchflow.model.results.backup import NodeSaved
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.status import JobsShown
from scratchflow.process.interrupted import Interrupted
from tests.unit.flows.hop.hopping import ENDED, NEW, OLD, SILENT, Cluster, hop, open_job
from tests.unit.flows.told import ToldCluster


def test_a_node_that_is_not_there_is_told_before_anything_is_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class WithoutIt(Cluster):
        def on_login(self, do: str, *_: object, **__: object) -> JobsShown | NodeHeld:
            if do == "hold":
                raise NodeUnknown(problem="there is no node `node-9`")
            return super().on_login(do)

        def at_workspace(self, *_: object, **__: object) -> NodeSaved:
            raise AssertionError("something was saved")

    with pytest.raises(NodeUnknown):
        hop(monkeypatch, WithoutIt(left=[OLD]), "node-9")


def test_a_dry_run_fails_for_files_that_no_backup_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreadable(Cluster):
        def at_workspace(self, *_: object, **__: object) -> Any:
            return NodeSaved(snapshot=None, unsaved=1, unsaved_paths=["work/closed"])

    cluster = Unreadable(left=[OLD])
    with pytest.raises(NodeNotSaved):
        hop(monkeypatch, cluster, dry_run=True)


def test_an_environment_that_stays_behind_is_named_before_the_question_about_what_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    cluster: Any = Cluster(left=[OLD])
    cluster.emit = lambda event: said.append(event.code)
    layers = EnvironmentOptions(venv="env")
    cluster.settings.profile = Profile(scheduler="slurm", environment=layers)
    monkeypatch.setattr(flow, "tell_who_is_not_saved", lambda *_: None)
    monkeypatch.setattr(flow, "agree_to_what_ends", lambda *_: said.append("the question"))
    flow._begin(cluster, leave_behind=False)
    assert said == ["environment.not_saved", "the question"]


def test_a_dry_run_fails_with_what_the_backup_would_fail_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class ScratchChanged(Cluster):
        def on_login(self, do: str, *_: object, **__: object) -> JobsShown | NodeHeld:
            assert do == "jobs open"
            return super().on_login(do)

        def at_workspace(self, *_: object, **__: object) -> NodeSaved:
            raise WorkspaceAtFormerScratch.of("/old/work", "work", "/new/work")

    with pytest.raises(WorkspaceAtFormerScratch):
        hop(monkeypatch, ScratchChanged(left=[OLD]), dry_run=True)


@pytest.mark.parametrize(
    ("request_", "is_told"),
    [
        (Hold(typed={"slurm.gpus": "--gpus 2"}), True),
        (Hold(), False),
        (Hold(typed={"slurm.gpus": "--gpus 2"}, keep_waiting=True), False),
        (Hold(typed={"slurm.gpus": "--gpus 2"}, node="node-9"), False),
    ],
)
def test_a_wait_in_vain_for_more_says_how_to_ask_for_the_own_node_too(
    monkeypatch: pytest.MonkeyPatch, request_: Hold, is_told: bool
) -> None:
    def wait(*_: object) -> NodeHeld:
        raise AllocationPending(job_id=NEW, waited="20 s", reason="Resources", next_step="")

    told: list[Any] = []
    monkeypatch.setattr(flow, "hold", wait)
    cluster = SimpleNamespace(emit=told.append, on_login=Cluster([]).on_login)
    move = Move(old_job=OLD, old_node="node-3", cluster=cluster)  # type: ignore[arg-type]  # it only tells
    with pytest.raises(AllocationPending):
        flow._next_node(move, request_)
    words = " ".join(one.message for one in told if isinstance(one, Log))
    assert ("`scratchflow clear`, then `scratchflow up --gpus 2`" in words) is is_told


@pytest.mark.parametrize(("meant", "follows"), [(NEW, True), (OLD, False), (None, False)])
def test_ctrl_c_while_commands_turn_to_the_new_node_lets_the_alias_follow_them(
    monkeypatch: pytest.MonkeyPatch, meant: int | None, follows: bool
) -> None:
    def interrupted(do: str, *_: object) -> JobsShown:
        if do == "jobs open":
            return JobsShown(jobs=[], meant=meant)
        raise Interrupted(signal.SIGINT)

    led_to: list[NodeHeld] = []
    monkeypatch.setattr(flow, "has_alias", lambda _: True)
    monkeypatch.setattr(flow, "point_at", lambda _settings, held, *_: led_to.append(held))
    cluster = SimpleNamespace(
        settings=None,
        emit=None,
        caller=SimpleNamespace(environment={}),
        on_login=interrupted,
    )
    held: Any = SimpleNamespace(job_id=NEW, node="node-3")
    move = Move(old_job=OLD, old_node="node-2", cluster=cluster)  # type: ignore[arg-type]  # it only tells
    with pytest.raises(Interrupted):
        flow._switch(move, held)
    assert led_to == [held] * follows


@pytest.mark.parametrize(
    ("saved", "newer", "fork"),
    [
        ("20261116T090000Z-b", "20261116T080000Z-a", "20261116T090000Z-b"),
        ("20261116T070000Z-b", "20261116T080000Z-a", None),  # an old copy without changes
        ("20261116T090000Z-b", None, None),  # the present work: it moves
        (None, "20261116T080000Z-a", None),
    ],
)
def test_a_copy_with_changes_that_does_not_move_is_told_as_a_fork(
    saved: str | None, newer: str | None, fork: str | None
) -> None:
    said: list[Any] = []
    cluster = SimpleNamespace(emit=said.append)
    assert flow._forked(saved, newer) == fork
    flow._say_what_forked(Move(OLD, "node-1", cluster), saved, newer or "")  # type: ignore[arg-type]
    if newer:
        assert [one.code for one in said] == (["hop.fork"] if fork else [])
        assert all(f"snapshots diff {fork} {newer}" in one.message for one in said)


def test_while_the_first_node_is_waited_for_there_is_none_to_leave() -> None:
    cluster: Any = Cluster([])
    waits = open_job(OLD)
    waits = msgspec.structs.replace(waits, state="pending", node=None, reason="no node is free")
    cluster.on_login = lambda *_: JobsShown(jobs=[waits])
    with pytest.raises(AllocationWaiting, match="job 53 is still waiting for a node: no node is"):
        flow._begin(cluster, leave_behind=False)


def test_it_says_where_the_other_workspaces_of_the_old_node_are() -> None:
    said: list[Any] = []
    settings = SimpleNamespace(name="p", profiles=["p"])
    cluster = SimpleNamespace(emit=said.append, settings=settings, caller=None)
    move = Move(OLD, "node-2", cluster)  # type: ignore[arg-type]  # only told
    saved = NodeSaved(snapshot="a", others={"p2": "b"})
    flow._say_what_stays(move, SavedCopy("node-2", saved))
    old = msgspec.structs.replace(saved, old_others=["p2"])
    flow._say_what_stays(move, SavedCopy("node-2", old))
    move.brought["p2"] = "b"
    flow._say_what_stays(move, SavedCopy("node-2", saved))
    assert [event.message for event in said] == [
        "workspace `p2` of `node-2` is in snapshot b; `scratchflow --set workspace=p2 restore` brings it"
    ]


HELD = NodeHeld(
    job_id=NEW,
    node="node-3",
    partition="p",
    end_time=None,
    reused=False,
    warm=None,
    user="u",
    host_keys=[],
    session=None,
)


def test_other_workspaces_of_the_profile_come_along_and_again_when_they_changed(
    tmp_path: Path,
) -> None:
    settled = Settled(action="restored", path="/s/p2", snapshot="b")
    cluster = ToldCluster(tmp_path, {"settle": settled})
    move = Move(OLD, "node-2", cluster)
    saved = NodeSaved(snapshot="a", others={"p2": "b", "theirs": "c"}, own_others=["p2"])
    flow._bring_others(move, HELD, saved)
    flow._bring_others(move, HELD, saved)
    assert move.brought == {"p2": "b"}
    changed = msgspec.structs.replace(saved, others={"p2": "d"})
    flow._bring_others(move, HELD, changed)
    assert move.brought == {"p2": "d"}
    settles = [Settle(snapshot="b"), Settle(snapshot="d")]
    assert cluster.asked == [("settle", one, NEW) for one in settles]
    there = cluster.with_workspace("p2", "/fsx/other")
    profile = there.settings.profile
    assert (profile.workspace, profile.store) == ("p2", "/fsx/other")
    assert cluster.settings.profile.workspace == "work"


def test_one_that_cannot_be_brought_is_a_warning_unless_the_new_node_is_gone(
    tmp_path: Path,
) -> None:
    full = NoSpace(path="/s", reason="quota")
    cluster = ToldCluster(tmp_path, {"settle": [full, ENDED, SILENT]})
    move = Move(OLD, "node-2", cluster)
    saved = NodeSaved(snapshot="a", others={"p2": "b"}, own_others=["p2"])
    flow._bring_others(move, HELD, saved)
    assert move.brought == {}
    (warning,) = [one for one in cluster.told if isinstance(one, Warned)]
    assert warning.code == "hop.not_brought"
    assert "workspace `p2` was not brought to `node-3`" in warning.message
    for gone in (AllocationEnded, NodeSilent):
        with pytest.raises(gone):
            flow._bring_others(move, HELD, saved)
