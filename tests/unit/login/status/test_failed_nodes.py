"""Work that only the disk of a node has is named until that node is had again."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from scratchflow.login.status.failed_nodes import (
    left_on_failed_nodes,
    work_on_failed_nodes,
)
from scratchflow.login.status.store import NodeFiles
from scratchflow.model.allocation import Allocation
from scratchflow.model.results.status import ON_FAILED_NODE, Problem
from scratchflow.model.times import iso_time
from scratchflow.store.heartbeats import Heartbeat
from scratchflow.store.nodes import NodeRecord
from tests.unit.login.status.test_problems import job
from tests.unit.login.status.test_status import Login

HOUR_S = 3600.0


FAILED = job(1, "ended", cause="node_fail")


def elsewhere(number: int, state: str = "running", **fields: Any) -> Allocation:
    return msgspec.structs.replace(job(number, state, **fields), nodes=("node-2",))


def test_work_that_only_a_failed_node_has_is_named_with_the_way_back() -> None:
    problem = work_on_failed_nodes([FAILED], None, "/scratch/$USER", None)["node-1"]
    assert "`node-1`" in problem.detail
    assert "`scratchflow up --node node-1`" in problem.fix
    assert not work_on_failed_nodes([FAILED], None, "$SLURM_TMPDIR", None)
    assert not work_on_failed_nodes(
        [job(1, "ended", cause="timeout")], None, "/scratch/$USER", None
    )


@pytest.mark.parametrize(
    ("later", "nodes"),
    [
        ([], ["node-1"]),
        ([job(2)], []),
        ([job(2, "ended", cause="cancelled")], []),
        ([job(2, "ended", cause="node_fail")], ["node-1"]),
        ([elsewhere(2)], ["node-1"]),
        ([elsewhere(2, "ended", cause="cancelled")], ["node-1"]),
        ([elsewhere(2, "ended", cause="node_fail")], ["node-1", "node-2"]),
    ],
)
def test_each_node_that_failed_is_named_until_a_later_job_has_it(
    later: list[Allocation], nodes: list[str]
) -> None:
    held = later[-1] if later and later[-1].state == "running" else None
    assert [*work_on_failed_nodes([FAILED, *later], held, "/scratch/$USER", None)] == nodes


@pytest.mark.parametrize(
    ("heartbeat", "record", "is_named"),
    [
        ({}, None, True),
        (None, {}, True),
        (None, None, False),
        ({"job_id": 2}, {"job_id": 2}, False),
        ({"node": "node-3"}, {"node": "node-3"}, False),
        # The restore of a later job that was cut short is told in other words.
        (None, {"job_id": 2, "restoring": "20260102T000000Z-111111", "restoring_job": 1}, False),
        (None, {"restoring": "20260102T000000Z-111111"}, False),
        ({}, {"restoring": "20260102T000000Z-111111"}, True),
    ],
)
def test_a_node_on_which_its_job_never_had_the_workspace_is_not_named(
    heartbeat: dict[str, Any] | None, record: dict[str, Any] | None, is_named: bool
) -> None:
    own = {"node": "node-1", "job_id": 1}
    beats = [] if heartbeat is None else [msgspec.structs.replace(SILENT, **{**own, **heartbeat})]
    records = [] if record is None else [msgspec.structs.replace(SAVED, **{**own, **record})]
    files = NodeFiles(records, beats)
    assert bool(work_on_failed_nodes([FAILED], None, "/scratch/$USER", files)) is is_named


def ago(seconds: float) -> str:
    return iso_time(time.time() - seconds) or ""


SILENT = Heartbeat(
    node="node-2",
    job_id=5,
    step_id=1,
    pid=1,
    token="t",  # noqa: S106 - no secret
    every_s=1800,
    phase="waiting",
    time=ago(HOUR_S),
    last_time=ago(2 * HOUR_S),
    job_name="scratchflow:p:01234567",
    workspace_exists=True,
)
SAVED = NodeRecord(
    node="node-2",
    snapshot="20260101T000000Z-000000",
    workspace_path="/scratch/u/work",
    job_id=5,
    job_name="scratchflow:p:01234567",
    time=ago(HOUR_S / 2),
)


def found(
    life: Heartbeat,
    *records: NodeRecord,
    scratch: str = "/scratch/$USER",
    open_jobs: tuple[int, ...] = (),
) -> list[Problem]:
    files = NodeFiles(list(records), [life])
    return list(left_on_failed_nodes(files, open_jobs, {"node-1"}, scratch))


@pytest.mark.parametrize(
    ("changed", "open_jobs", "scratch", "is_told"),
    [
        ({}, (), "/scratch/$USER", True),
        ({"restoring": ""}, (), "/scratch/$USER", False),
        ({}, (5,), "/scratch/$USER", False),
        ({"restoring_job": 6}, (5,), "/scratch/$USER", True),
        ({"restoring_job": 6}, (6,), "/scratch/$USER", False),
        ({"node": "node-1"}, (), "/scratch/$USER", False),  # named for another reason, or held
        ({}, (), "$SLURM_TMPDIR", False),
        ({"time": ago(8 * 24 * HOUR_S)}, (), "/scratch/$USER", False),
    ],
)
def test_a_copy_that_a_job_left_half_restored_is_named_with_the_way_back(
    changed: dict[str, Any], open_jobs: tuple[int, ...], scratch: str, is_told: bool
) -> None:
    half = msgspec.structs.replace(SAVED, restoring="20260102T000000Z-111111")
    files = NodeFiles([msgspec.structs.replace(half, **changed)], [])
    told = list(left_on_failed_nodes(files, open_jobs, {"node-1"}, scratch))
    assert [one.name for one in told] == [ON_FAILED_NODE] * is_told
    number = changed.get("restoring_job", 5)
    assert all(f"was cut short with job {number}" in one.detail for one in told)
    assert all("`scratchflow up --node node-2`" in one.fix for one in told)


def test_a_job_that_ended_without_a_last_backup_is_named_with_the_way_back() -> None:
    (problem,) = found(SILENT)
    assert problem.name == ON_FAILED_NODE
    assert problem.detail == (
        "job 5 ended without a last backup: whatever was changed on `node-2`"
        f" since {SILENT.last_time} is on its disk alone"
    )
    assert "`scratchflow up --node node-2`" in problem.fix
    (never_saved,) = found(msgspec.structs.replace(SILENT, last_time=None))
    assert "since the last snapshot" in never_saved.detail


def test_a_node_is_named_once() -> None:
    half = msgspec.structs.replace(SAVED, restoring="20260102T000000Z-111111", time=SILENT.time)
    (problem,) = found(SILENT, half)
    assert "was cut short" in problem.detail


@pytest.mark.parametrize(
    "changed",
    [
        {"phase": "ended"},
        {"workspace_exists": False},
        {"node": "node-1"},  # which is held again
        {"job_id": None},
    ],
)
def test_no_other(changed: dict[str, object]) -> None:
    assert found(msgspec.structs.replace(SILENT, **changed)) == []


@pytest.mark.parametrize(
    "seconds",
    [60, -HOUR_S, 8 * 86400],  # a minute after its job's end the last backup may be under way
)
def test_nor_before_it_is_known_nor_for_ever(seconds: float) -> None:
    assert found(msgspec.structs.replace(SILENT, time=ago(seconds))) == []


def test_nor_where_its_job_goes_on_or_scratch_went_with_it_or_it_was_saved_by_a_command() -> None:
    assert found(SILENT, open_jobs=(5,)) == []
    assert found(SILENT, scratch="$SLURM_TMPDIR") == []
    assert found(SILENT, SAVED) == []
    for changed in ({"job_id": 4}, {"time": ago(3 * HOUR_S)}, {"node": "node-3"}):
        assert found(SILENT, msgspec.structs.replace(SAVED, **changed))


def test_status_shows_it_while_another_node_is_held(held: Login) -> None:
    held.beat(workspace_exists=True)
    assert held.problems() == []
    held.beat(seconds_ago=HOUR_S, node="node-9", job_id=3, workspace_exists=True)
    assert held.problems() == [ON_FAILED_NODE]
    held.beat(
        seconds_ago=HOUR_S, node="node-9", job_id=7, workspace_exists=True
    )  # of the job that is held
    assert held.problems() == []
