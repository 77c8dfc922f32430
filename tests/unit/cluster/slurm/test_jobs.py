"""Our jobs in Slurm's queue: found by name and number, and never mistaken for somebody else's."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.jobs import job
from scratchflow.model.allocation import AllocationState, EndCause
from scratchflow.model.errors.slurm import SlurmUnreachable
from tests.unit.cluster.slurm.conftest import NAME, Cluster


@pytest.mark.parametrize(
    ("line", "state", "cause"),
    [
        ("7|TIMEOUT|alice|dev|n1|1|2|08:00:00|None|NAME", "ended", "timeout"),
        ("7|CANCELLED by 0|alice|dev|n1|1|2|08:00:00|None|NAME", "ended", "cancelled"),
        ("7|TIMEOUT|bob|dev|n1|1|2|08:00:00|None|NAME", "ended", "forgotten"),
        ("7|TIMEOUT|alice|dev|n1|1|2|08:00:00|None|other", "ended", "forgotten"),
        ("", "ended", "forgotten"),
    ],
)
def test_accounting_tells_why_a_forgotten_job_ended(
    cluster: Cluster, line: str, state: AllocationState, cause: EndCause
) -> None:
    cluster.fake.accounted = {7: f"{line.replace('NAME', NAME)}\n"}
    seen = job(cluster.slurm, 7, NAME)
    assert (seen.state, seen.cause) == (state, cause)


def test_a_job_on_several_nodes_names_each(cluster: Cluster) -> None:
    number = cluster.fake.add(NAME, nodes="cn-c[007,035]")
    seen = job(cluster.slurm, number, NAME)
    assert (seen.nodes, seen.node) == (("cn-c007", "cn-c035"), "cn-c007")


def test_a_node_list_that_nobody_understands_is_no_answer(cluster: Cluster) -> None:
    number = cluster.fake.add(NAME, nodes="cn[x")
    with pytest.raises(SlurmUnreachable, match="makes no sense"):
        job(cluster.slurm, number, NAME)
