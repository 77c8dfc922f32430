"""A workspace is behind only when the newest snapshot is not what its own came from, or the same."""

from __future__ import annotations

from scratchflow.model.requests import Prune
from scratchflow.node.retention import prune_snapshots
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.retention.newer import newer_elsewhere
from tests.unit.conftest import Desk


def newer(desk: Desk, base: str) -> str | None:
    return newer_elsewhere(desk.place, read_catalogue(desk.place), base)


def test_a_snapshot_that_a_restore_committed_again_is_not_newer_work(desk: Desk) -> None:
    first = desk.backup().snapshot or ""
    desk.write("work/more")
    second = desk.backup().snapshot or ""
    again = desk.restore(first).committed_as or ""
    assert [newer(desk, base) for base in (first, again, second)] == [None, None, again]


def test_nor_is_what_a_snapshot_came_from_that_was_removed(desk: Desk) -> None:
    first = desk.backup().snapshot or ""
    desk.write("work/more")
    second = desk.backup().snapshot or ""
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(second,)))
    assert [newer(desk, base) for base in (first, second)] == [None, None]


def test_but_what_came_after_it_is(desk: Desk) -> None:
    first = desk.backup().snapshot or ""
    desk.write("work/more")
    second = desk.backup().snapshot or ""
    desk.write("work/still more")
    third = desk.backup().snapshot or ""
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(second,)))
    assert [newer(desk, base) for base in (first, second, third)] == [third, third, None]
