"""Which part of a request is too much, and in whose words that is said."""

from __future__ import annotations

from typing import Any

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.nodes import nodes, partitions
from scratchflow.login.request_limits import (
    Cluster,
    elsewhere,
    excesses,
    in_words,
    next_step,
    no_other_node,
)
from scratchflow.model.profile import SlurmOptions
from scratchflow.testing.slurm import FakeSlurm


def ask(**options: Any) -> SlurmOptions:
    return SlurmOptions(**{"time": "5:00", **options})


@pytest.fixture
def cluster() -> Cluster:
    slurm = Slurm(FakeSlurm(), "alice", "login")
    return Cluster(partitions(slurm), nodes(slurm))


@pytest.mark.parametrize(
    ("options", "node", "key", "why"),
    [
        (ask(time="5:00:00"), "", "slurm.time", "is more than the 10 min that partition `debug` allows"),
        (ask(time="5:00:00", partition="gpu"), "", "slurm.time", "is more than the 4 h that partition `gpu` allows"),
        (ask(cpus_per_task=400), "", "slurm.cpus_per_task", "is more than the 4 CPUs that a node of partition `debug` has"),
        (ask(ntasks=5), "", "slurm.ntasks", "is more than the 4 CPUs that a node of partition `debug` has"),
        (ask(ntasks=5, cpus_per_task=1), "", "slurm.ntasks", "is more than the 4 CPUs that a node of partition `debug` has"),
        (ask(ntasks=6, nodes=2, cpus_per_task=2), "", "slurm.ntasks", "with 2 CPUs each is more than the 4 CPUs that a node of partition `debug` has"),
        (ask(gpus=8), "", "slurm.gpus", "is more than the 2 GPUs that a node of partition `debug` has"),
        (ask(gpus=1), "node-1", "slurm.gpus", "is more than the 0 GPUs that `node-1` has"),
        (ask(partition="gpu"), "node-1", "node", "is not in partition `gpu`: `node-1` is in `debug`"),
        (ask(mem="100G"), "", "slurm.mem", "is more than the 3.91 GiB that a node of partition `debug` has"),
        (ask(mem="4001"), "", "slurm.mem", "is more than the 3.91 GiB that a node of partition `debug` has"),
        (ask(nodes=4), "", "slurm.nodes", "is more than the 3 nodes of partition `debug`"),
        (ask(constraint="a100"), "", "slurm.constraint", "is nothing that a node of partition `debug` has"),
    ],
)  # fmt: skip
def test_what_is_too_much_is_named_with_its_limit(
    cluster: Cluster, options: SlurmOptions, node: str, key: str, why: str
) -> None:
    (found,) = excesses(options, node, cluster)
    assert (found.key, found.why) == (key, why)


@pytest.mark.parametrize(
    "options",
    [
        ask(time="10:00", cpus_per_task=4, gpus=2, mem="4000"),
        ask(time="4:00:00", partition="debug,gpu"),  # one of them allows it
        ask(gpus=4, nodes=2),
        ask(ntasks=8, nodes=2),
        ask(time="5:00:00", partition="nonesuch"),
        ask(constraint="a&b"),  # only Slurm reads that
        ask(time="UNLIMITED", mem="0"),
    ],
)
def test_what_fits_or_cannot_be_told_is_not_blamed(cluster: Cluster, options: SlurmOptions) -> None:
    assert excesses(options, "", cluster) == []
    assert excesses(ask(time="5:00:00", gpus=80), "", Cluster((), ())) == []


def test_a_flag_is_named_as_typed_and_a_setting_by_its_key(cluster: Cluster) -> None:
    found = excesses(ask(time="5:00:00", gpus=8), "", cluster)
    typed = {"slurm.time": "--time 5h"}
    said = in_words(found, typed, {"slurm.gpus": 8}.get)
    assert said == (
        "`--time 5h` is more than the 10 min that partition `debug` allows; "
        "`slurm.gpus = 8` is more than the 2 GPUs that a node of partition `debug` has"
    )
    there = "the request under `[profiles.p.slurm]`"
    assert next_step(found, typed, "p") == f"change `--time 5h` and {there}"
    assert next_step(found, {**typed, "slurm.gpus": "--gpus 8"}, "p") == (
        "change `--time 5h` and `--gpus 8`"
    )
    assert next_step(found, {}, "p") == f"change {there}"
    assert next_step([], typed, "p") == f"change `--time 5h` or {there}"


def test_a_time_that_is_too_long_is_told_with_the_flag_that_fits(cluster: Cluster) -> None:
    found = excesses(ask(time="2:00:00"), "", cluster)
    there = "the request under `[profiles.p.slurm]`"
    assert next_step(found, {}, "p") == f"ask with `--time 10m`, or change {there}"
    typed = {"slurm.time": "--time 2h"}
    assert next_step(found, typed, "p") == "change `--time 2h` to `--time 10m`"


@pytest.mark.parametrize(
    ("options", "left", "why"),
    [
        (ask(partition="gpu"), ["node-2"], ""),
        (ask(partition="gpu"), [], ""),
        (ask(partition="gpu"), ["node-2", "node-3"], "partition `gpu` has no other node than `node-2`, `node-3`"),
        (ask(partition="gpu", nodes=2), ["node-2"], "partition `gpu` has 1 node besides `node-2`, not 2"),
        (ask(partition="gpu,debug"), ["node-2", "node-3"], ""),
        (ask(partition="nonesuch"), ["node-2"], ""),
        (ask(), ["node-1", "node-2", "node-3"], "partition `debug` has no other node than `node-1`, `node-2`, `node-3`"),
    ],
)  # fmt: skip
def test_a_partition_without_another_node_is_told(
    cluster: Cluster, options: SlurmOptions, left: list[str], why: str
) -> None:
    assert no_other_node(options, left, cluster) == why


@pytest.mark.parametrize(
    ("options", "typed", "line"),
    [
        (ask(partition="gpu"), {}, "--partition debug"),
        (ask(partition="gpu", time="2:00:00"), {}, "--partition debug --time 10m"),
        (
            ask(partition="gpu", time="2:00:00"),
            {
                "slurm.partition": "--partition gpu",
                "slurm.constraint": "--constraint a&b",
                "slurm.time": "--time 2h",
            },
            "--partition debug --constraint 'a&b' --time 10m",
        ),
    ],
)
def test_another_partition_is_named_with_the_line_that_asks_for_it(
    cluster: Cluster, options: SlurmOptions, typed: dict[str, str], line: str
) -> None:
    step = elsewhere(options, ["node-2", "node-3"], typed, cluster)
    assert step == f"`scratchflow hop {line}` asks for a node of partition `debug`"


def test_where_no_partition_has_a_node_for_it_none_is_named(cluster: Cluster) -> None:
    step = elsewhere(ask(partition="gpu", gpus=1), ["node-2", "node-3"], {}, cluster)
    assert step == "keep `node-2`, `node-3`: no other partition has a node for this request"
