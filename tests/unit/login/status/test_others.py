"""Other workspaces on the node, as `status` tells of them."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from scratchflow.cli.status_lines import shown
from scratchflow.model.times import iso_time
from scratchflow.store.directory import open_place
from scratchflow.store.heartbeats import beat, read_heartbeats
from scratchflow.store.nodes import NodeRecord, record_node
from scratchflow.testing.store import make_id
from tests.unit.login.status.test_status import Login
from tests.unit.login.status.test_store import other


def test_one_whose_store_is_gone_is_not_called_saved(held: Login) -> None:
    gone = held.desk.context.store.with_name("moved away")
    held.beat(workspace_exists=True, others=[other(held, name="w5"), other(held, store=str(gone))])
    lines = "\n".join(shown(held.look())).replace("\n" + " " * 13, " ")
    assert f"{held.desk.scratch}/p2; its store {gone}/p2 is not there" in " ".join(lines.split())
    assert lines.count("saves it") == 1, "that of w5, whose store is there"
    gone.mkdir()
    held.beat(workspace_exists=True, others=[other(held, store=str(gone), snapshot=None)])
    lines = "\n".join(shown(held.look()))
    assert "the same auto-backup saves it" in " ".join(lines.split())


def test_each_workspace_on_the_node_is_named(held: Login) -> None:
    held.beat(workspace_exists=True, others=[other(held), other(held, name="p3", own_loop=True)])
    path = held.desk.scratch
    lines = "\n".join(shown(held.look())).replace("\n" + " " * 13, " ")
    assert f"{path}/p2, from snapshot abcdef; the same auto-backup saves it" in lines
    assert f"{path}/p3, from snapshot abcdef; an auto-backup of its own saves it" in lines
    assert held.problems() == []


def test_also_when_the_auto_backup_has_been_switched_off(held: Login) -> None:
    held.beat(phase="ended", others=[other(held, error="no space")])
    lines = "\n".join(shown(held.look())).replace("\n" + " " * 13, " ")
    assert f"{held.desk.scratch}/p2, from snapshot abcdef; no auto-backup saves it" in lines


def test_an_older_copy_of_another_workspace_is_told_as_that(held: Login) -> None:
    place = open_place(held.desk.context.store, "p2")
    newest = make_id(60, "943696")
    for snapshot in (make_id(), newest):
        place.manifest(snapshot).write_text("{}")
    held.beat(workspace_exists=True, others=[other(held), other(held, name="p3")])
    lines = "\n".join(shown(held.look())).replace("\n" + " " * 13, " ")
    old = "p2: an older copy, from snapshot abcdef; the store has a newer one, 943696: `scratchflow --set workspace=p2 restore` brings it;"
    assert old in lines
    assert "p3, from snapshot abcdef; the same" in lines
    elsewhere = other(held, store="/another/store")
    held.beat(workspace_exists=True, others=[other(held, snapshot=newest), elsewhere])
    assert [one.newer for one in held.look().others] == [None, None]


def test_a_copy_that_was_saved_since_the_heartbeat_is_not_told_as_older(held: Login) -> None:
    """As by the `clear` of another profile: the newest snapshot was taken of this very copy."""
    place = open_place(held.desk.context.store, "p2")
    newest = make_id(60, "943696")
    for snapshot in (make_id(), newest):
        place.manifest(snapshot).write_text("{}")
    held.beat(phase="ended")
    own = read_heartbeats(held.place)[0]
    beat(place, own)
    held.beat(seconds_ago=20, workspace_exists=True, others=[other(held, own_loop=True)])

    def saved(path: Path, *, seconds_ago: float) -> str:
        record = NodeRecord(
            node=own.node,
            snapshot=newest,
            workspace_path=str(path),
            job_id=8,
            time=iso_time(time.time() - seconds_ago) or "",
        )
        record_node(place, record)
        return "\n".join(shown(held.look())).replace("\n" + " " * 13, " ")

    there = held.desk.scratch / "p2"
    assert f"{there}, from snapshot 943696; the same auto-backup saves it" in saved(
        there, seconds_ago=10
    )
    assert "p2: an older copy, from snapshot abcdef" in saved(there, seconds_ago=40)
    assert "p2: an older copy, from snapshot abcdef" in saved(Path("/other/p2"), seconds_ago=10)


def test_another_workspace_that_cannot_be_saved_is_a_problem(held: Login) -> None:
    held.beat(workspace_exists=True, others=[other(held, error="no space")])
    (problem,) = held.look().problems
    assert (problem.name, "p2` failed: no space" in problem.detail) == ("autobackup.failed", True)
    assert problem.fix == "`scratchflow --set workspace=p2 backup` shows why"


def test_one_that_is_half_restored_is_neither_saved_nor_passed_over(held: Login) -> None:
    """As the node's auto-backup saw it, and as the restore itself noted it in the store since."""
    held.beat(workspace_exists=True, others=[other(held, restoring=make_id())])
    _is_half_restored(held)
    held.beat(seconds_ago=20, workspace_exists=True, others=[other(held)])
    record = NodeRecord(
        node=read_heartbeats(held.place)[0].node,
        snapshot=make_id(),
        workspace_path=str(held.desk.scratch / "p2"),
        job_id=8,
        time=iso_time(time.time() - 10) or "",
        restoring=make_id(),
    )
    place = open_place(held.desk.context.store, "p2")
    record_node(place, record)
    _is_half_restored(held)
    record_node(place, msgspec.structs.replace(record, restoring=""))
    assert held.problems() == []
    held.beat(workspace_exists=True, others=[other(held, restoring=make_id(), error="cut")])
    assert held.problems() == ["restore.incomplete"], "one word for one thing"


def _is_half_restored(held: Login) -> None:
    seen = held.look()
    assert [one.is_saved for one in seen.others] == [False]
    lines = " ".join("\n".join(shown(seen)).split())
    assert "p2: half restored from snapshot abcdef; no backup is taken of it" in lines
    (problem,) = seen.problems
    assert problem.name == "restore.incomplete"
    assert f"`{held.desk.scratch}/p2` has not finished" in problem.detail
    assert "`scratchflow --set workspace=p2 restore` finishes it" in problem.fix
    assert "`scratchflow --set workspace=p2 restore --abandon` leaves it as it is" in problem.fix


def test_the_way_out_names_the_store_of_another_one(held: Login, tmp_path: Path) -> None:
    half = other(held, store=str(tmp_path), restoring=make_id())
    held.beat(workspace_exists=True, others=[half])
    (problem,) = held.look().problems
    assert f"`scratchflow --set store={tmp_path} --set workspace=p2 restore`" in problem.fix
