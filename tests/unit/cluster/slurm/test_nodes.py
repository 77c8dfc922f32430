"""The nodes of the cluster, whoever can be asked for them, and the number that means one of them."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.nodes import complete_node, find_node, nodes
from scratchflow.model.errors.allocation import NodeUnknown
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.process.child import Completed
from scratchflow.testing.command import completed
from scratchflow.testing.slurm import FakeSlurm
from tests.unit.cluster.slurm.test_node_text import RECORDED_SINFO


def test_sinfo_is_asked_where_scontrol_is_barred() -> None:
    def run(argv: object, timeout_s: float) -> Completed:
        assert timeout_s > 0
        assert isinstance(argv, list)
        if argv[0] == "sinfo":
            return completed(0, RECORDED_SINFO)
        return completed(1, "", "scontrol: Access/permission denied")

    assert [node.name for node in nodes(Slurm(run, "alice", "login"))] == [
        "node-1",
        "node-2",
        "node-3",
    ]


def test_no_answer_is_no_empty_cluster() -> None:
    def run(argv: object, timeout_s: float) -> Completed:
        return completed(1, "", f"error: something odd {argv} {timeout_s}")

    with pytest.raises(SlurmUnreachable, match="something odd"):
        nodes(Slurm(run, "alice", "login"))


NAMES = ["login", "node-1", "node-2", "node-12", "a100-st-p4d24xlarge-3", "cn007", "x-5", "y-5"]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("2", "node-2"),
        ("12", "node-12"),
        ("3", "a100-st-p4d24xlarge-3"),
        ("7", "cn007"),
        ("007", "cn007"),
        ("node-1", "node-1"),
        ("login", "login"),
    ],
)
def test_a_bare_number_is_completed(wanted: str, name: str) -> None:
    assert complete_node(wanted, NAMES) == name


def test_leading_zeros_decide_between_two() -> None:
    assert complete_node("07", ["a7", "b07"]) == "b07"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("5", "`5` could be several nodes; did you mean `x-5`, `y-5`?"),
        ("99", "no node's name ends in the number 99"),
        ("nod-1", "there is no node `nod-1`; did you mean `node-1`?"),
        ("²", "there is no node `²`"),
        ("", "there is no node ``"),
    ],
)
def test_what_is_unclear_is_asked_back(wanted: str, words: str) -> None:
    with pytest.raises(NodeUnknown) as caught:
        complete_node(wanted, NAMES)
    assert words in str(caught.value)


def test_a_cloud_node_that_is_off_is_known_from_its_partition() -> None:
    fake = FakeSlurm()
    del fake.nodes["node-3"]  # as Slurm up to 22.05 leaves it out
    slurm = Slurm(fake, "alice", "login")
    assert find_node(slurm, "node-3") == "node-3"
    assert find_node(slurm, "3") == "node-3"
    with pytest.raises(NodeUnknown):
        find_node(slurm, "node-9")
