"""What `status` says to do next."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scratchflow.flows.next_step import next_step
from scratchflow.model.results.backup import AutobackupShown
from scratchflow.model.results.status import (
    AllocationShown,
    Problem,
    SessionShown,
    SnapshotsShown,
    StatusShown,
    WorkspaceShown,
)

RUNNING = AllocationShown(
    state="running", job_id=7, node="n1", partition="p", end_time=None, seconds_left=7200
)
WELL = StatusShown(
    profile="aws",
    allocation=RUNNING,
    alias=None,
    workspace=WorkspaceShown(path="/scratch/work", exists=True, base_snapshot=None),
    snapshots=SnapshotsShown(count=1, last_age_s=10),
    autobackup=AutobackupShown(enabled=True, every_s=1800),
    session=SessionShown(name="s", host="h", alive=True),
)
SHORT = msgspec.structs.replace(
    RUNNING, start_time="2026-01-01T10:00:00Z", end_time="2026-01-01T10:10:00Z"
)
SHORTEST = msgspec.structs.replace(SHORT, end_time="2026-01-01T10:02:00Z")
GONE = WorkspaceShown(path="/scratch/work", exists=False, base_snapshot=None)
UNSEEN = WorkspaceShown(path="/scratch/work", exists=None, base_snapshot=None)
OFF = AutobackupShown(enabled=False, every_s=1800)


@pytest.mark.parametrize(
    ("seen", "command"),
    [
        ({}, "`scratchflow open`"),
        ({}, "`scratchflow shell` a shell in it"),
        ({"allocation": None}, "`scratchflow up` takes a node"),
        ({"allocation": msgspec.structs.replace(RUNNING, state="pending")}, "withdraws"),
        ({"allocation": msgspec.structs.replace(RUNNING, state="ended")}, "`scratchflow up`"),
        ({"allocation": msgspec.structs.replace(RUNNING, seconds_left=600)}, "`scratchflow hop`"),
        ({"allocation": msgspec.structs.replace(SHORT, seconds_left=540)}, "`scratchflow open`"),
        ({"allocation": msgspec.structs.replace(SHORT, seconds_left=240)}, "`scratchflow hop`"),
        ({"allocation": msgspec.structs.replace(SHORTEST, seconds_left=100)}, "`scratchflow hop`"),
        ({"allocation": msgspec.structs.replace(SHORTEST, seconds_left=60)}, "`scratchflow hop`"),
        (
            {"allocation": msgspec.structs.replace(RUNNING, seconds_left=0)},
            "when the job has ended",
        ),
        (
            {"allocation": msgspec.structs.replace(RUNNING, seconds_left=600), "autobackup": OFF},
            "`scratchflow autobackup on`",
        ),
        ({"workspace": GONE}, "`scratchflow up` brings the workspace"),
        ({"workspace": UNSEEN, "autobackup": OFF}, "`scratchflow up` brings the workspace"),
        ({"workspace": UNSEEN}, "`scratchflow open`"),
        ({"autobackup": OFF}, "`scratchflow autobackup on` saves the workspace every 30 min"),
        ({"scheduler": "none"}, "`scratchflow snapshots diff` shows what is not saved yet"),
        (
            {"scheduler": "none", "autobackup": OFF},
            "every 30 min; `scratchflow snapshots diff` shows what is not saved yet",
        ),
        ({"scheduler": "none", "workspace": GONE}, "`scratchflow restore`"),
        (
            {"scheduler": "none", "workspace": GONE, "snapshots": SnapshotsShown(count=0)},
            "`scratchflow create`",
        ),
        ({"scheduler": "none", "snapshots": SnapshotsShown(count=0)}, "`scratchflow backup`"),
        ({"problems": [Problem(name="x", detail="d", fix="f")]}, ""),
    ],
)
def test_the_step_fits_what_is_true(seen: dict[str, Any], command: str) -> None:
    step = next_step(msgspec.structs.replace(WELL, **seen))
    assert command in step
    assert bool(step) == bool(command)


def test_a_machine_on_which_nothing_was_begun_is_told_how_to_begin() -> None:
    nothing = SnapshotsShown(count=0)
    fresh = msgspec.structs.replace(WELL, scheduler="none", workspace=GONE, snapshots=nothing)
    step = next_step(fresh, has_begun=False)
    assert "`scratchflow up LOGIN`" in step
    assert "`scratchflow up --local`" in step
    assert "`scratchflow create`" in next_step(fresh)


def test_a_picture_ages_by_itself() -> None:
    later = WELL.after(61.7)
    assert later.allocation
    assert (later.allocation.seconds_left, later.snapshots.last_age_s) == (7139, 71)
    ended = WELL.after(9000).allocation
    assert ended
    assert ended.seconds_left == 0
    nothing = msgspec.structs.replace(WELL, allocation=None, snapshots=SnapshotsShown(count=0))
    assert nothing.after(5) == nothing
