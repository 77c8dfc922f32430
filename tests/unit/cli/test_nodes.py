"""What a person reads of `nodes`: what is free, what is not known, and which nodes fit the profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.cli.nodes import _last, _shown
from scratchflow.config.remembered import remember
from scratchflow.model.results.allocation import (
    GpuTypeShown,
    NodeRow,
    NodesShown,
    PartitionShown,
)


def row(name: str, *partitions: str, **fields: Any) -> NodeRow:
    usual: dict[str, Any] = {
        "state": "idle",
        "available": True,
        "cpus": 8,
        "cpus_free": 6,
        "memory_bytes": 64 << 30,
        "memory_free_bytes": 32 << 30,
        "gpus": 0,
        "gpus_free": 0,
        "warm": None,
    }
    return NodeRow(name=name, partitions=partitions, **{**usual, **fields})


def test_the_nodes_of_the_profiles_partitions_are_marked() -> None:
    nodes = [row("n1", "dev"), row("n2", "gpu", "other"), row("n3", "devel"), row("n4")]
    lines = list(_shown(NodesShown(nodes=nodes, partition="dev,gpu")))
    marked = [line.split()[1] for line in lines[1:-1] if line.startswith("*")]
    assert marked == ["n1", "n2"]
    assert "`dev,gpu`" in lines[-1]


def test_your_node_is_marked_and_warm_is_explained() -> None:
    nodes = [row("n1", warm="20261115T093000Z-3f2a9c"), row("n2")]
    lines = list(_shown(NodesShown(nodes=nodes, held=["n2"])))
    assert [", yours" in line for line in lines[1:3]] == [False, True]
    assert lines[-1].startswith("warm: its scratch still has the workspace")


def test_without_a_partition_nothing_is_marked_or_explained() -> None:
    lines = list(_shown(NodesShown(nodes=[row("n1", "dev"), row("n2")])))
    assert len(lines) == 3
    assert not any(line.startswith("*") for line in lines)


def test_what_slurm_does_not_tell_is_a_question_mark_and_not_a_number() -> None:
    unknown = row("n1", memory_free_bytes=None, gpus=4, gpus_free=None)
    line = list(_shown(NodesShown(nodes=[unknown])))[1]
    assert line.split() == ["n1", "idle", "6", "of", "8", "?", "?", "of", "4", "-"]


def test_nothing_free_is_told_as_zero() -> None:
    full = row("n1", cpus_free=0, memory_free_bytes=0, gpus=4, gpus_free=0)
    line = " ".join(list(_shown(NodesShown(nodes=[full])))[1].split())
    assert "0 of 8" in line
    assert "0 of 4" in line
    assert "?" not in line


def test_a_cluster_without_nodes_is_a_header() -> None:
    assert len(list(_shown(NodesShown(nodes=[])))) == 1


def test_foreign_text_cannot_steer_the_terminal() -> None:
    odd = row("n1\x1b[2J", state="down\x07", warm="20261115T093000Z-3f2a9c")
    text = "\n".join(_shown(NodesShown(nodes=[odd], partition="d\x1b")))
    assert not {"\x1b", "\x07"} & set(text)
    assert "3f2a9c" in text


def gpu_type(name: str, *, is_exact: bool = True) -> GpuTypeShown:
    return GpuTypeShown(
        type=name,
        total=8,
        free=6,
        most_on_a_node=4,
        most_free_on_a_node=4,
        is_exact=is_exact,
    )


def test_what_is_free_of_each_type_is_a_line_and_without_types_there_is_none() -> None:
    types = [gpu_type("a100"), gpu_type("t4", is_exact=False)]
    line = list(_shown(NodesShown(nodes=[row("n1")], gpu_types=types)))[-1]
    assert line.startswith("GPUs free: 6 of 8 a100, at least 6 of 8 t4; ")
    assert len(list(_shown(NodesShown(nodes=[row("n1")], gpu_types=[gpu_type("")])))) == 2


def test_the_last_request_is_in_slurms_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert _last("aws") == ""
    remember("aws", slurm={"time": "4h", "gpus": 2})
    assert _last("aws") == "--time=04:00:00 --nodes=1 --ntasks=1 --gpus=2"
    remember("aws", slurm={"of another version": 1})
    assert _last("aws") == ""


def test_how_long_a_job_may_take_is_told_for_each_partition() -> None:
    limits = [PartitionShown(name="dev", max_time_s=28_800), PartitionShown(name="long")]
    line = list(_shown(NodesShown(nodes=[row("n1", "dev")], partitions=limits)))[-1]
    assert line == "longest time: 8 h in `dev`, no limit in `long`"
