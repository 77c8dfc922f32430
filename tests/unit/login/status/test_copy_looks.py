"""The copies on further nodes in `status`: scanned now and then, and what only they hold is a problem."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.login import copies
from scratchflow.login.status.copy_looks import CopyLooks, copies_differ
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.results.backup import CopyShown
from tests.unit.conftest import Desk

HELD = RunningAllocation(job_id=7, name="job", state="running", nodes=("node-1", "node-2"))


def test_who_looks_again_and_again_has_them_scanned_now_and_then(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def count(_: object, held: RunningAllocation, __: object) -> list[CopyShown]:
        looked.append(held.job_id)
        return [CopyShown(node="node-2", changed=0)]

    monkeypatch.setattr(copies, "look_at_copies", count)
    looks, settings = CopyLooks(), desk.context.settings
    for job in (HELD, HELD, msgspec.structs.replace(HELD, job_id=8)):
        assert len(looks.look(settings, job, {})) == 1
    assert looked == [7, 8]
    one = msgspec.structs.replace(HELD, nodes=("node-1",))
    assert looks.look(settings, one, {}) == looks.look(settings, None, {}) == []


def test_what_no_snapshot_can_hold_there_is_a_problem() -> None:
    copy = CopyShown(node="node-2", changed=0, unsaved=5, unsaved_paths=["a", "b", "c", "d"])
    (problem,) = copies_differ([copy])
    assert problem.name == "nodes.unsaved"
    assert problem.detail == "`node-2`: no snapshot holds 5 paths (`a`, `b`, `c`, …)"
