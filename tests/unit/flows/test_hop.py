"""`hop` when the old job goes in the middle of it: the job that it holds by then is not forgotten."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from scratchflow.flows import hop as flow
from scratchflow.flows.clear import SavedCopy
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationPending,
    AllocationWaiting,
    NodeSilent,
    NodeUnknown,
)
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.hop import HopCutShort, NextNodeLost, NextNodeSilent
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.events import Log, Warned
from scratchflow.model.profile import Profile
from scratchflow.model.requests import Hold, Settle
from scratchflow.model.results.allocation import NodeHeld
from scratchflow.model.results.backup import BackupTaken, NodeSaved
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.status import AllocationShown, JobsShown
from scratchflow.process.interrupted import Interrupted
from tests.unit.flows.told import ToldCluster

OLD, NEW = 53, 54
SILENT = NodeSilent(node="node-3", job_id=NEW, reason="exit code 233: srun: Job step aborted")
TAKEN = BackupTaken(
    snapshot="a",
    kind="unchanged",
    parent=None,
    files=1,
    bytes=1,
    changed_files=0,
    changed_bytes=0,
    stored_bytes=0,
    duration_s=0,
)
ENDED = AllocationEnded(job_id=OLD, reason="it was cancelled")


class Cluster:
    """A cluster whose old job is ended by somebody else as soon as the next one is granted."""

    def __init__(self, left: list[int] | ScratchflowError) -> None:
        self.settings = SimpleNamespace(name="p", profile=Profile(scheduler="slurm"))
        self.jobs: list[int] | ScratchflowError = [OLD]
        self.meant = OLD
        self._left = left

    def emit(self, _: object) -> None:
        """Nobody listens."""

    def on_login(self, do: str, *_: object, **__: object) -> JobsShown | NodeHeld:
        if do == "jobs open":
            if isinstance(self.jobs, ScratchflowError):
                raise self.jobs
            return JobsShown(jobs=[_job(number) for number in self.jobs], meant=self.meant)
        assert do == "hold"
        self.jobs = self._left
        return NodeHeld(
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

    def at_workspace(self, do: str, *_: object, job_id: int) -> NodeSaved | Settled | BackupTaken:
        assert job_id == OLD
        if do == "settle":
            return Settled(action="nothing", path="/s/work", snapshot="a")
        if do == "save node":
            return NodeSaved(snapshot="a")
        raise ENDED


def _job(number: int) -> AllocationShown:
    return AllocationShown(
        state="running",
        job_id=number,
        node=f"node-{number - 51}",
        partition="p",
        end_time=None,
        seconds_left=None,
    )


def hop(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, node: str = "") -> None:
    @contextmanager
    def reached(*_: object) -> Iterator[Cluster]:
        yield cluster

    monkeypatch.setattr(flow, "cluster_of", reached)
    caller: Any = SimpleNamespace(settings=lambda: cluster.settings)
    flow.hop(caller, cluster.emit, Hold(node=node))


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


def test_it_says_which_job_is_held_and_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HopCutShort) as caught:
        hop(monkeypatch, Cluster(left=[NEW]))
    error = caught.value
    assert error.exit_code == ENDED.exit_code
    assert str(ENDED) in str(error)
    assert "job 54 on `node-3`" in str(error)
    assert "scratchflow up" in error.shown_hint
    assert "scratchflow clear" in error.shown_hint


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
    cluster = SimpleNamespace(emit=told.append)
    move = flow._Move(old_job=OLD, old_node="node-3", cluster=cluster)  # type: ignore[arg-type]  # it only tells
    with pytest.raises(AllocationPending):
        flow._next_node(move, request_)
    words = " ".join(one.message for one in told if isinstance(one, Log))
    assert ("`scratchflow clear`, then `scratchflow up --gpus 2`" in words) is is_told


def test_a_next_job_that_slurm_forgot_is_told_with_the_one_that_still_holds_the_workspace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NextNodeLost) as caught:
        hop(monkeypatch, Cluster(left=[OLD]))
    error = caught.value
    assert error.exit_code == ENDED.exit_code
    assert str(ENDED) in str(error)
    assert "job 53 still holds `node-2`" in str(error)
    assert "scratchflow hop" in error.shown_hint


class NextIsSilent(Cluster):
    """A cluster whose next node loses power once it is granted, and Slurm does not know yet."""

    def __init__(self) -> None:
        super().__init__(left=[OLD, NEW])

    def at_workspace(
        self, do: str, *_: object, job_id: int, **__: object
    ) -> NodeSaved | Settled | BackupTaken:
        if job_id == NEW:
            raise SILENT
        return TAKEN if do == "backup" else super().at_workspace(do, job_id=job_id)


class OldIsSilent(NextIsSilent):
    """The same when the node that is left does not answer any more."""

    def at_workspace(
        self, do: str, *_: object, job_id: int, **__: object
    ) -> NodeSaved | Settled | BackupTaken:
        if do == "backup":
            raise NodeSilent(node="node-2", job_id=OLD, reason="no route to host")
        return super().at_workspace(do, job_id=job_id)


def require_told(error: NextNodeSilent) -> None:
    assert error.exit_code == SILENT.exit_code
    assert str(SILENT) in str(error)
    assert "the workspace is on `node-2` (job 53), as it was" in str(error)
    assert "`scancel 54` on the login host gives back that node alone" in error.shown_hint
    assert "`scratchflow hop`" in error.shown_hint
    assert "clear" not in error.shown_hint


def test_a_next_node_without_an_answer_is_told_with_where_the_work_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NextNodeSilent) as caught:
        hop(monkeypatch, NextIsSilent())
    require_told(caught.value)


def test_so_is_that_of_an_earlier_run_which_is_still_held(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> NodeHeld:
        raise SILENT

    cluster = Cluster(left=[])
    cluster.jobs = [OLD, NEW]
    monkeypatch.setattr(flow, "hold", silent)
    with pytest.raises(NextNodeSilent) as caught:
        hop(monkeypatch, cluster)
    require_told(caught.value)
    cluster.jobs = [OLD]  # nobody knows which one it is
    with pytest.raises(NodeSilent):
        hop(monkeypatch, cluster)


def test_of_an_old_node_without_an_answer_that_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NodeSilent, match="node-2"):
        hop(monkeypatch, OldIsSilent())


def test_nor_once_commands_go_to_the_new_node(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = NextIsSilent()
    cluster.meant = NEW
    with pytest.raises(NodeSilent):
        hop(monkeypatch, cluster)


def test_ctrl_c_with_two_nodes_in_hand_names_both_and_the_way_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(flow, "_bring_over", interrupted)
    with pytest.raises(EndedBySignal) as caught:
        hop(monkeypatch, Cluster(left=[OLD, NEW]))
    assert caught.value.exit_code == 128 + signal.SIGINT
    assert str(caught.value) == (
        "Cancelled. Both nodes are held: `node-2` (job 53) and `node-3` (job 54)."
        " `scratchflow hop` finishes the move."
    )


def test_ctrl_c_while_commands_turn_to_the_new_node_lets_the_alias_follow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
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
    move = flow._Move(old_job=OLD, old_node="node-2", cluster=cluster)  # type: ignore[arg-type]  # it only tells
    with pytest.raises(Interrupted):
        flow._switch(move, held)
    assert led_to == [held]


@pytest.mark.parametrize(
    "left", [[], [OLD, NEW], SlurmUnreachable(host="login", reason="no answer")]
)
def test_it_says_nothing_of_that_when_it_is_not_so(
    monkeypatch: pytest.MonkeyPatch, left: list[int] | ScratchflowError
) -> None:
    with pytest.raises(AllocationEnded):
        hop(monkeypatch, Cluster(left=left))


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
    flow._say_what_forked(flow._Move(OLD, "node-1", cluster), saved, newer or "")  # type: ignore[arg-type]
    if newer:
        assert [one.code for one in said] == (["hop.fork"] if fork else [])
        assert all(f"snapshots diff {fork} {newer}" in one.message for one in said)


def test_while_the_first_node_is_waited_for_there_is_none_to_leave() -> None:
    cluster: Any = Cluster([])
    waits = _job(OLD)
    waits = msgspec.structs.replace(waits, state="pending", node=None, reason="no node is free")
    cluster.on_login = lambda *_: JobsShown(jobs=[waits])
    with pytest.raises(AllocationWaiting, match="job 53 is still waiting for a node: no node is"):
        flow._begin(cluster, leave_behind=False)


def test_it_says_where_the_other_workspaces_of_the_old_node_are() -> None:
    said: list[Any] = []
    move = flow._Move(OLD, "node-2", SimpleNamespace(emit=said.append))  # type: ignore[arg-type]  # only told
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
    move = flow._Move(OLD, "node-2", cluster)
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
    move = flow._Move(OLD, "node-2", cluster)
    saved = NodeSaved(snapshot="a", others={"p2": "b"}, own_others=["p2"])
    flow._bring_others(move, HELD, saved)
    assert move.brought == {}
    (warning,) = [one for one in cluster.told if isinstance(one, Warned)]
    assert warning.code == "hop.not_brought"
    assert "workspace `p2` was not brought to `node-3`" in warning.message
    for gone in (AllocationEnded, NodeSilent):
        with pytest.raises(gone):
            flow._bring_others(move, HELD, saved)
