"""Who asks for a path of the wrong snapshot is told which ones hold it."""

from __future__ import annotations

import pytest

from scratchflow.model.errors.snapshots import PathInOthers, PathMissing, SnapshotMissing
from scratchflow.model.requests import Diff, DiffWorkspace, Show
from scratchflow.node.history.history import show_snapshot
from scratchflow.node.history.live_diff import diff_workspace
from scratchflow.node.history.snapshot_diff import diff_snapshots
from scratchflow.node.restore.holders import snapshots_with
from tests.unit.conftest import Desk


def test_the_newest_that_hold_it_come_first(desk: Desk) -> None:
    without = desk.backup().snapshot
    desk.write("work/a b.csv")
    taken = []
    for number in range(4):
        desk.write("work/other", str(number))
        taken.append(desk.backup().snapshot)
    (desk.work / "a b.csv").unlink()
    last = str(desk.backup().snapshot)
    assert snapshots_with(desk.context, "a b.csv") == taken[:0:-1]
    assert snapshots_with(desk.context, "work/a b.csv") == taken[:0:-1]
    assert snapshots_with(desk.context, "*.csv") == taken[:0:-1]
    assert snapshots_with(desk.context, "never") == []
    for snapshot in (str(without), last, "latest"):
        with pytest.raises(PathInOthers) as caught:
            desk.restore(snapshot, paths=("a b.csv",))
        assert f"`{taken[-1]}`" in str(caught.value)
        assert f"`scratchflow restore {taken[-1]} --path 'a b.csv'`" in caught.value.shown_hint
    desk.restore(str(taken[-1]), paths=("a b.csv",))
    assert (desk.work / "a b.csv").exists()


def test_one_that_cannot_be_read_is_passed_over(desk: Desk) -> None:
    first = desk.backup().snapshot
    desk.write("work/other")
    second = str(desk.backup().snapshot)
    desk.place.archive(second).write_bytes(b"")
    assert snapshots_with(desk.context, "README") == [first]
    with pytest.raises(PathMissing):
        desk.restore(str(first), paths=("never",))


def test_a_path_in_place_of_a_snapshot_is_told_how_it_is_typed(desk: Desk) -> None:
    desk.write("work/a b.csv")
    older = str(desk.backup().snapshot)
    (desk.work / "a b.csv").unlink()
    desk.write("work/params.txt")
    desk.backup()
    for typed, line in (
        ("params.txt", "restore latest --path params.txt"),
        ("work/params.txt", "restore latest --path work/params.txt"),
        ("a b.csv", f"restore {older} --path 'a b.csv'"),
    ):
        with pytest.raises(SnapshotMissing, match="no such snapshot") as caught:
            desk.restore(typed)
        hint = caught.value.shown_hint
        assert hint == f"that is a path: `scratchflow {line}` brings it back"
    desk.restore(older, paths=("a b.csv",))
    assert (desk.work / "a b.csv").exists()


@pytest.mark.parametrize("wanted", ["", " "])
def test_an_empty_name_is_not_taken_for_a_path(desk: Desk, wanted: str) -> None:
    desk.backup()
    with pytest.raises(SnapshotMissing) as caught:
        desk.restore(wanted)
    assert caught.value.shown_hint.startswith("the newest: ")


def test_so_are_snapshots_diff_and_show(desk: Desk) -> None:
    desk.write("work/params.txt")
    desk.backup()
    context, notify, file = desk.context, desk.notify, "params.txt"
    with pytest.raises(SnapshotMissing) as live:
        diff_workspace(context, notify, DiffWorkspace(older=file))
    with pytest.raises(SnapshotMissing) as between:
        diff_snapshots(context, notify, Diff(older="latest", newer=file))
    for caught in (live, between):
        assert "`scratchflow snapshots diff` alone lists" in caught.value.shown_hint
    with pytest.raises(SnapshotMissing) as shown:
        show_snapshot(context, notify, Show(snapshot=file))
    assert "`scratchflow snapshots show latest params.txt`" in shown.value.shown_hint
    assert show_snapshot(context, notify, Show(path=file)).entries


def test_what_is_neither_is_told_as_before(desk: Desk) -> None:
    desk.backup()
    with pytest.raises(SnapshotMissing) as caught:
        desk.restore("never.txt")
    assert "`scratchflow snapshots list`" in caught.value.shown_hint
