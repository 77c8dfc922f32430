"""What `hop` saves, and of which node first, when an earlier run was cut short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.flows.hop import hop as flow
from scratchflow.flows.hop.move import Move
from scratchflow.flows.hop.saving import back_up, save_nodes, save_where_work_went_on
from scratchflow.model.errors.allocation import NodeNotSaved
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.requests import SaveNode
from scratchflow.model.results.backup import NodeSaved
from scratchflow.model.results.status import JobsShown
from tests.unit.flows.hop.hopping import NEW, OLD, SILENT, TAKEN
from tests.unit.flows.told import ToldCluster, job

NO_WORKSPACE = WorkspaceMissing(path="/s/work", node="node-3")


def begun(
    tmp_path: Path, meant: int | None, *jobs: Any, **answers: Any
) -> tuple[ToldCluster, Move]:
    shown = JobsShown(jobs=list(jobs), meant=meant)
    cluster = ToldCluster(tmp_path, {"jobs open": shown, **answers})
    return cluster, flow._begin(cluster, leave_behind=False)


@pytest.mark.parametrize(("meant", "first"), [(NEW, [NEW]), (OLD, []), (None, [])])
def test_what_was_done_where_commands_went_on_to_is_saved_first(
    tmp_path: Path, meant: int | None, first: list[int]
) -> None:
    cluster, move = begun(tmp_path, meant, job(OLD), job(NEW), backup=TAKEN)
    save_where_work_went_on(move)
    assert [number for do, _, number in cluster.asked if do == "backup"] == first


@pytest.mark.parametrize("state", ["pending", "suspended"])
def test_not_where_nobody_can_have_worked(tmp_path: Path, state: str) -> None:
    _, move = begun(tmp_path, NEW, job(OLD), job(NEW, state))
    assert move.went_on_to is None


@pytest.mark.parametrize("error", [SILENT, NO_WORKSPACE])
def test_a_next_node_that_has_nothing_to_save_or_gives_no_answer_is_met_later(
    tmp_path: Path, error: Exception
) -> None:
    _, move = begun(tmp_path, NEW, job(OLD), job(NEW), backup=error)
    save_where_work_went_on(move)


def test_one_that_cannot_be_saved_stops_the_move(tmp_path: Path) -> None:
    full = NoSpace(path="/store", reason="no space")
    _, move = begun(tmp_path, NEW, job(OLD), job(NEW), backup=full)
    with pytest.raises(NoSpace):
        save_where_work_went_on(move)


@pytest.mark.parametrize(
    ("left", "fork", "named"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_the_old_node_is_saved_as_what_it_is(
    tmp_path: Path, *, left: bool, fork: bool, named: bool
) -> None:
    """At the end of a move `hop` itself names what was changed there last."""
    saved = NodeSaved(snapshot="then-a-fork", newer="newest")
    cluster, move = begun(tmp_path, OLD, job(OLD), **{"save node": saved})
    assert save_nodes(move, left=left, fork=fork)[-1].saved == saved
    wanted = SaveNode(message="before hop", left=left, beside=fork)
    assert cluster.asked[-1][:2] == ("save node", wanted)
    assert move.forks == ({f"node-{OLD}": "then-a-fork"} if named else {})


def test_it_is_kept_while_something_there_is_in_no_snapshot(tmp_path: Path) -> None:
    unsaved = NodeSaved(snapshot="a", unsaved=1, unsaved_paths=["work/closed"])
    _, move = begun(tmp_path, OLD, job(OLD), **{"save node": unsaved})
    with pytest.raises(NodeNotSaved):
        save_nodes(move, left=False)


def test_of_a_node_without_a_workspace_there_is_nothing(tmp_path: Path) -> None:
    _, move = begun(tmp_path, OLD, job(OLD), backup=[TAKEN, NO_WORKSPACE])
    assert back_up(move) == TAKEN
    assert back_up(move) is None
