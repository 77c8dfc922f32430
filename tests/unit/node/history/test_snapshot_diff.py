"""`snapshots diff` between two snapshots, whichever way round."""

from __future__ import annotations

import subprocess
import sys

from scratchflow.model.requests import Diff
from scratchflow.node.history.snapshot_diff import diff_snapshots
from tests.unit.conftest import Desk


def test_what_was_added_removed_and_changed_is_told_both_ways(desk: Desk) -> None:
    desk.write("work/stays", b"as it was")
    desk.write("work/goes", b"soon away")
    desk.write("work/changes", b"one")
    first = desk.backup().snapshot
    assert first
    (desk.work / "goes").unlink()
    desk.write("work/changes", b"two")
    desk.write("work/comes", b"new")
    second = desk.backup().snapshot
    assert second
    forth = diff_snapshots(desk.context, desk.notify, Diff(older=first, newer=second))
    assert {(one.action, one.path) for one in forth.paths} == {
        ("added", "work/comes"),
        ("changed", "work/changes"),
        ("removed", "work/goes"),
    }
    assert (forth.older, forth.newer) == (first, second)
    back = diff_snapshots(desk.context, desk.notify, Diff(older=second, newer=first))
    assert (back.added, back.removed, back.changed) == (1, 1, 1)
    same = diff_snapshots(desk.context, desk.notify, Diff(older=second, newer=second))
    assert not same.paths


def test_listing_and_verifying_load_nothing_that_compares_trees() -> None:
    """Loading it took a tenth of what either takes before its first byte is read."""
    loaded = (
        "import sys, scratchflow.node.history.verification;"
        "print([one for one in sys.modules if one.startswith('scratchflow.archive.compare')])"
    )
    shown = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True)
    assert shown.stdout == b"[]\n"
