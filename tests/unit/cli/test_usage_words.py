"""What a person reads of `status --usage`."""

from __future__ import annotations

from scratchflow.cli.usage_words import usage_lines
from scratchflow.model.results.usage import CpuUse, DiskUse, GpuUse, MemoryUse, NodeUsage

GIB = 1024**3
USAGE = NodeUsage(
    node="node-1",
    cpu=CpuUse(used=3.2, cores=8, percent=40, by="job"),
    memory=MemoryUse(used_bytes=12 * GIB, total_bytes=32 * GIB, percent=38, by="job"),
    scratch=DiskUse(
        path="/scratch/u", used_bytes=GIB, free_bytes=3 * GIB, total_bytes=4 * GIB, percent=25
    ),
    gpus=[
        GpuUse(
            index=0,
            name="A100",
            percent=87,
            memory_used_bytes=30 * GIB,
            memory_total_bytes=40 * GIB,
            memory_percent=75,
        )
    ],
)


def test_a_node_is_two_lines_with_a_gpu() -> None:
    node, gpu = usage_lines([USAGE], None)
    cores, memory, scratch = node.removeprefix("in use       ").split(", ")
    assert cores == "3.2 of 8 cores (40 %)"
    assert memory == "memory 12.0 GiB of 32.0 GiB (38 %)"
    assert scratch == "/scratch/u 1.00 GiB of 4.00 GiB (25 %)"
    assert gpu == "GPU 0        A100: 87 %, memory 30.0 GiB of 40.0 GiB (75 %)"


def test_figures_of_the_whole_node_are_said_to_be_that() -> None:
    usage = NodeUsage(
        node="n",
        cpu=CpuUse(used=1, cores=2, percent=50, by="node"),
        memory=MemoryUse(used_bytes=GIB, total_bytes=2 * GIB, percent=50, by="node"),
    )
    (line,) = usage_lines([usage], None)
    assert line.endswith(
        "1 of 2 cores of the whole node (50 %), memory 1.00 GiB of 2.00 GiB of the whole node (50 %)"
    )


def test_of_several_nodes_each_is_named_and_a_silent_one_says_why() -> None:
    silent = NodeUsage(node="node-2", unknown="it took longer than 8 s")
    lines = list(usage_lines([USAGE, silent], None))
    assert lines[0].startswith("in use       node-1: 3.2 of 8 cores")
    assert lines[1].startswith("GPU 0        node-1: A100")
    assert lines[2] == "in use       node-2: not known: it took longer than 8 s"


def test_what_a_gpu_does_not_tell_is_left_out() -> None:
    mig = GpuUse(
        index=1,
        name="A30 MIG",
        percent=None,
        memory_used_bytes=GIB,
        memory_total_bytes=2 * GIB,
        memory_percent=50,
    )
    bare = GpuUse(
        index=2,
        name="odd",
        percent=5,
        memory_used_bytes=None,
        memory_total_bytes=None,
        memory_percent=None,
    )
    usage = NodeUsage(node="n", gpus=[mig, bare], gpus_unknown="")
    assert list(usage_lines([usage], None))[1:] == [
        "GPU 1        A30 MIG: memory 1.00 GiB of 2.00 GiB (50 %)",
        "GPU 2        odd: 5 %",
    ]


def test_gpus_that_could_not_be_looked_at_are_not_passed_over() -> None:
    (line,) = usage_lines([NodeUsage(node="n", gpus_unknown="GPU is lost")], None)
    assert line == "in use       GPUs not known: GPU is lost"
