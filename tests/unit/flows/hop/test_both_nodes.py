"""An error in the middle of `hop` says which of the two jobs is still held, and where the work is."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from scratchflow.flows.hop import hop as flow
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationPending,
    AllocationRefused,
    NodeFailed,
    NodeSilent,
)
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.hop import HopCutShort, NextNodeLost, NextNodeSilent
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.errors.workspace import AutobackupFailed
from scratchflow.model.results.allocation import NodeHeld
from scratchflow.model.results.backup import BackupTaken, NodeSaved
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.status import JobsShown
from scratchflow.process.interrupted import Interrupted
from tests.unit.flows.hop.hopping import ENDED, NEW, OLD, SILENT, TAKEN, Cluster, hop


def test_it_says_which_job_is_held_and_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HopCutShort) as caught:
        hop(monkeypatch, Cluster(left=[NEW]))
    error = caught.value
    assert error.exit_code == ENDED.exit_code
    assert str(ENDED) in str(error)
    assert "job 54 on `node-3`" in str(error)
    assert "scratchflow up" in error.shown_hint
    assert "scratchflow clear" in error.shown_hint


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


class SwitchFails(NextIsSilent):
    """A cluster whose next node is ready for the work, and dies when its auto-backup is switched on."""

    def on_login(self, do: str, *_: object, **__: object) -> Any:
        if do == "autobackup on":
            raise AutobackupFailed(node="node-3", reason="srun: Job step aborted", log="/l")
        return super().on_login(do)

    def at_workspace(self, do: str, *_: object, **__: object) -> NodeSaved | Settled | BackupTaken:
        return TAKEN if do == "backup" else Cluster.at_workspace(self, do, job_id=OLD)


@pytest.mark.parametrize(
    ("meant", "said"),
    [
        (OLD, "`node-2` (job 53), where the work is and commands go, and `node-3` (job 54)"),
        (NEW, "`node-3` (job 54), where commands go now, and `node-2` (job 53), as it was left"),
    ],
)
def test_a_switch_that_fails_is_told_with_both_nodes_and_where_the_work_is(
    monkeypatch: pytest.MonkeyPatch, meant: int, said: str
) -> None:
    cluster = SwitchFails()
    cluster.meant = meant
    with pytest.raises(AutobackupFailed) as caught:
        hop(monkeypatch, cluster)
    assert f"both nodes are held: {said}" in caught.value.shown_hint
    assert "`scratchflow hop`" in caught.value.shown_hint
    assert ("`scancel 54`" in caught.value.shown_hint) is (meant == OLD)


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


@pytest.mark.parametrize(
    "left", [[], [OLD, NEW], SlurmUnreachable(host="login", reason="no answer")]
)
def test_it_says_nothing_of_that_when_it_is_not_so(
    monkeypatch: pytest.MonkeyPatch, left: list[int] | ScratchflowError
) -> None:
    with pytest.raises(AllocationEnded):
        hop(monkeypatch, Cluster(left=left))


@pytest.mark.parametrize("kind", [AllocationRefused, AllocationPending])
@pytest.mark.parametrize("left", [[OLD], []])
def test_a_next_node_that_is_not_granted_leaves_the_old_one_held_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, kind: type[ScratchflowError], left: list[int]
) -> None:
    error = kind(job_id=NEW, waited="20 s", reason="Resources", next_step="try later")
    hint = error.shown_hint

    class Refusing(Cluster):
        def on_login(self, do: str, *_: object, **__: object) -> JobsShown | NodeHeld:
            if do != "hold":
                return super().on_login(do)
            self.jobs = left
            raise error

    with pytest.raises(kind) as caught:
        hop(monkeypatch, Refusing(left=left))
    said = "; job 53 still holds `node-2`, with the work there"
    assert caught.value.shown_hint == hint + said * bool(left)


FAILED = NodeFailed(node="node-3", reason="its sshd does not answer (connection refused)")


@pytest.mark.parametrize(
    ("left", "meant", "error", "kind", "step"),
    [
        ([OLD], OLD, FAILED, NextNodeLost, "`scratchflow up` goes on working there"),
        ([OLD], OLD, AllocationEnded(job_id=NEW, reason="x"), NextNodeLost, "`scratchflow hop`"),
        ([OLD, NEW], OLD, FAILED, NextNodeSilent, "go on working on `node-2`"),
        ([], None, FAILED, NodeFailed, "`scratchflow up` takes another node"),
        ([OLD, NEW], NEW, FAILED, NodeFailed, "`scratchflow up` takes another node"),
        (SlurmUnreachable(host="l", reason="r"), OLD, FAILED, NodeFailed, "`scratchflow up` takes"),
    ],
)
def test_a_next_node_that_fails_before_the_move_is_told_with_where_the_work_is(
    monkeypatch: pytest.MonkeyPatch,
    left: list[int] | ScratchflowError,
    meant: int,
    error: ScratchflowError,
    kind: type[ScratchflowError],
    step: str,
) -> None:
    class Failing(Cluster):
        def on_login(self, do: str, *_: object, **__: object) -> JobsShown | NodeHeld:
            if do != "hold":
                return super().on_login(do)
            self.jobs, self.meant = left, meant
            raise error

    with pytest.raises(kind) as caught:
        hop(monkeypatch, Failing(left=left))
    told = caught.value
    assert type(told) is kind
    assert (told.exit_code, str(error) in str(told)) == (error.exit_code, True)
    assert step in told.shown_hint
    if kind is not NodeFailed:
        assert "`node-2`" in str(told)
        assert "takes another node" not in told.shown_hint
