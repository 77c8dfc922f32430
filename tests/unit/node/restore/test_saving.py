"""What is saved before a restore: the store is free again afterwards, and nothing doubtful counts as held."""

from __future__ import annotations

from array import array
from typing import Any

import msgspec
import pytest

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.scan.scan import Scan, ScannedTree
from scratchflow.node.restore import saving
from scratchflow.node.restore.saving import (
    held_by,
    locked_store,
    safety_snapshot,
    save_now,
    trusted_flags,
)
from scratchflow.node.restore.source import Source
from scratchflow.node.restore.steps import summary
from scratchflow.node.snapshot import plan as snapshot_plan
from scratchflow.node.snapshot.options import SnapshotOptions
from tests.unit.conftest import Desk


@pytest.fixture
def source(desk: Desk) -> Source:
    taken = desk.backup().snapshot
    assert taken
    index = open_index(desk.place.archive(taken))
    return Source(taken, index, ["work"], desk.place.archive)


def test_a_workspace_that_is_saved_already_needs_no_safety_snapshot(
    desk: Desk, source: Source
) -> None:
    saved = save_now(desk.context, desk.notify, SnapshotOptions(purpose="safety"))
    assert safety_snapshot(saved) is None
    desk.write("work/README", "unsaved")
    saved = save_now(desk.context, desk.notify, SnapshotOptions(purpose="safety"))
    assert safety_snapshot(saved) == desk.ids[-1] != source.id


def test_what_could_not_be_read_is_not_held(desk: Desk) -> None:
    saved = save_now(desk.context, desk.notify, SnapshotOptions())
    notify = desk.notify
    notify.unreadable.append(b"work/closed/")
    held = held_by(saved, notify)
    assert held.unsaved == {b"work/closed"}
    assert held.scanned.find(b"work/README") is not None


def test_flags_of_another_tree_are_not_trusted(desk: Desk) -> None:
    saved = save_now(desk.context, desk.notify, SnapshotOptions())
    assert trusted_flags(saved) is saved.flags
    fewer = msgspec.structs.replace(saved, flags=array("B", saved.flags[:-1]))
    assert len(trusted_flags(fewer)) == len(saved.scanned)


def test_the_store_is_free_again_after_a_failure(desk: Desk, source: Source) -> None:
    with pytest.raises(KeyError), locked_store(desk.context, desk.notify):
        raise KeyError
    with locked_store(desk.context, desk.notify) as lock:
        lock.assert_held()
    assert summary(desk.context, source, "nothing", 0, 0).target == str(desk.work)


@pytest.mark.parametrize(("patience_s", "scans"), [(60.0, 1), (-1.0, 2)])
def test_a_scan_from_before_a_long_wait_is_not_used(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, patience_s: float, scans: int
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "changed")
    desk.backup()
    finished: list[Scan] = []
    finish = Scan.finish

    def counted(self: Scan, *given: Any) -> ScannedTree:
        finished.append(self)
        return finish(self, *given)

    begun: list[Scan] = []
    begin = snapshot_plan.begin_scan

    def noted(*given: Any) -> Scan:
        begun.append(begin(*given))
        return begun[-1]

    monkeypatch.setattr(snapshot_plan, "begin_scan", noted)
    monkeypatch.setattr(Scan, "finish", counted)
    monkeypatch.setattr(saving, "_STALE_AFTER_S", patience_s)
    assert desk.restore(first).mode == "delta"
    assert (len(begun), finished) == (scans, begun[-1:])
