"""`copy`: what a node's copy came from and how much was changed there, without a trace of the look."""

from __future__ import annotations

import shutil

from scratchflow.model.requests import NOTHING
from scratchflow.model.results.backup import CopyState
from scratchflow.node.copy_state import copy_state
from tests.unit.conftest import Desk


def seen(desk: Desk) -> CopyState:
    return copy_state(desk.context, desk.notify, NOTHING)


def test_changed_files_are_counted_against_the_snapshot_that_it_came_from(desk: Desk) -> None:
    base = desk.backup().snapshot
    assert seen(desk) == CopyState(base=base, changed=0)
    desk.write("work/new")
    (desk.work / "README").unlink()
    before = desk.ids
    assert seen(desk) == CopyState(base=base, changed=2)
    assert desk.ids == before


def test_what_is_no_file_counts_as_one_change(desk: Desk) -> None:
    base = desk.backup().snapshot
    (desk.work / "empty").mkdir()
    assert seen(desk) == CopyState(base=base, changed=1)


def test_a_node_without_a_workspace_has_nothing_to_compare(desk: Desk) -> None:
    desk.backup()
    shutil.rmtree(desk.work)
    assert seen(desk) == CopyState(exists=False)


def test_what_cannot_be_read_is_named(desk: Desk) -> None:
    base = desk.backup().snapshot
    desk.write("work/closed")
    (desk.work / "closed").chmod(0)
    found = seen(desk)
    assert (found.base, found.unsaved, found.unsaved_paths) == (base, 1, ["work/closed"])
