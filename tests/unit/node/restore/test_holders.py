"""Who asks for a path of the wrong snapshot is told which ones hold it."""

from __future__ import annotations

import pytest

from scratchflow.model.errors.snapshots import PathInOthers, PathMissing
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
