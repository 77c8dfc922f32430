"""Which warm node is asked for."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.login.warm import best_warm_node
from scratchflow.model.allocation import Node
from scratchflow.model.profile import SlurmOptions

OLD, NEW = "20261114T080000Z-aaaaaa", "20261115T080000Z-bbbbbb"
FREE = Node(
    name="node-1",
    partitions=("debug",),
    state="idle",
    available=True,
    cpus=8,
    cpus_free=8,
    memory_bytes=16 << 30,
    memory_free_bytes=16 << 30,
    gpus=2,
    gpus_free=2,
)
NODES = [FREE, msgspec.structs.replace(FREE, name="node-2")]


def test_the_newest_copy_wins() -> None:
    assert best_warm_node({"node-1": OLD, "node-2": NEW}, NODES, SlurmOptions()) == "node-2"


@pytest.mark.parametrize(
    "options",
    [
        SlurmOptions(partition="gpu"),
        SlurmOptions(cpus_per_task=9),
        SlurmOptions(gpus=3),
        SlurmOptions(mem="17G"),
        SlurmOptions(mem="17000"),
    ],
)
def test_a_node_that_lacks_what_is_asked_for_is_not_preferred(options: SlurmOptions) -> None:
    assert best_warm_node({"node-1": NEW}, NODES, options) == ""


def test_a_node_that_is_taken_or_gone_is_not_preferred() -> None:
    taken = [msgspec.structs.replace(FREE, available=False)]
    assert best_warm_node({"node-1": NEW, "gone": NEW}, taken, SlurmOptions()) == ""


def test_what_slurm_does_not_tell_is_no_reason_against_it() -> None:
    untold = [msgspec.structs.replace(FREE, memory_free_bytes=None, gpus_free=None)]
    assert best_warm_node({"node-1": NEW}, untold, SlurmOptions(mem="64G", gpus=2)) == "node-1"
