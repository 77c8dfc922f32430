"""Who holds a node has a job number and a node, and says so by its class."""

from __future__ import annotations

import pytest

from scratchflow.model.allocation import (
    Allocation,
    AllocationState,
    RunningAllocation,
    ThisMachine,
    with_node,
)


def job(number: int, state: AllocationState, *nodes: str) -> Allocation:
    return Allocation(job_id=number, name="x", state=state, nodes=nodes, end_time=9)


def test_a_granted_job_keeps_everything_it_is() -> None:
    granted = job(7, "running", "node-1", "node-2").granted()
    assert granted == RunningAllocation(
        job_id=7, name="x", state="running", nodes=("node-1", "node-2"), end_time=9
    )
    assert granted.node == "node-1"


@pytest.mark.parametrize(
    "without", [job(7, "pending"), job(7, "unknown"), ThisMachine(name="s", nodes=("here",))]
)
def test_without_a_node_or_a_job_nothing_is_granted(without: Allocation) -> None:
    assert without.granted() is None


def test_only_those_that_hold_a_node_count() -> None:
    jobs = [
        job(1, "ended", "node-1"),
        job(2, "running", "node-2"),
        job(3, "pending"),
        job(4, "suspended", "node-4"),
    ]
    assert [(one.job_id, one.node) for one in with_node(jobs)] == [(2, "node-2"), (4, "node-4")]
