"""A node is had again after a job that ended without a last backup: what is said is what is there."""

from __future__ import annotations

import shutil

import msgspec
import pytest

from scratchflow.model.events import Log, Warned
from scratchflow.model.requests import Settle
from scratchflow.node.settle import settle
from scratchflow.store.heartbeats import Heartbeat, beat
from tests.unit.conftest import Desk

LAST = Heartbeat(
    node="node-1",
    job_id=1,
    step_id=None,
    pid=1,
    token="t",  # noqa: S106 - of a process
    every_s=1800,
    phase="waiting",
    time="2126-01-01T00:00:00Z",
)


def in_job(desk: Desk, job_id: int) -> Desk:
    context = msgspec.structs.replace(
        desk.context, node="node-1", job_id=job_id, is_job_over=lambda job: job < job_id
    )
    return Desk(context)


def said(desk: Desk) -> list[str]:
    settle(desk.context, desk.notify, Settle())
    return [one.message for one in desk.events if isinstance(one, (Log, Warned))]


@pytest.fixture
def after(desk: Desk) -> Desk:
    """The job after the one that failed, on the same node."""
    saved = in_job(desk, 1).backup().snapshot
    beat(desk.place, msgspec.structs.replace(LAST, last_snapshot=saved))
    desk.write("work/README", "changed since")
    return in_job(desk, 2)


def test_what_the_disk_has_kept_is_said_to_be_in_no_snapshot_yet(after: Desk) -> None:
    (words,) = said(after)
    assert words == (
        f"job 1 ended on node-1 without a last backup: what was changed in `{after.work}`"
        f" after snapshot {after.ids[-1]} is in it, and in no snapshot yet"
    )
    assert after.backup().changed_files == 1


def test_what_was_renamed_is_not_said_to_be_gone(after: Desk) -> None:
    after.work.rename(after.scratch / "elsewhere")
    assert not any("any more" in one for one in said(after))


def test_what_the_disk_has_lost_is_said_to_be_gone(after: Desk) -> None:
    shutil.rmtree(after.work)
    shutil.rmtree(after.context.workspace.state)
    (words,) = [one for one in said(after) if "any more" in one]
    assert words == (
        f"job 1 ended on node-1 without a last backup, and nothing of `{after.work}` is there any more:"
        f" what was changed in it after snapshot {after.ids[-1]} is in no snapshot"
    )
    assert after.content()["README"] == b"hello"


@pytest.mark.parametrize(
    "last",
    [
        {"phase": "ended"},
        {"workspace_exists": False},
        {"job_id": 2},
        {"job_id": 3},  # a job that is not over: its copy may be in use
        {"time": "2000-01-01T00:00:00Z"},  # saved since, as by `clear`
        {"node": "node-2"},
    ],
)
def test_nothing_is_said_of_a_job_that_saved_its_work_or_goes_on(
    after: Desk, last: dict[str, object]
) -> None:
    before = msgspec.structs.replace(LAST, last_snapshot=after.ids[-1])
    beat(after.place, msgspec.structs.replace(before, **last))
    if "node" in last:
        (after.place.directory / "heartbeats/node-1.json").unlink()
    assert said(after) == []
