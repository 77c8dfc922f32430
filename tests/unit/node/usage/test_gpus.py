"""The job's GPUs, from what `nvidia-smi` prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from scratchflow.cluster.command import CommandUnanswered, Run, local_run
from scratchflow.node.usage.gpus import gpus, shown_gpus
from scratchflow.process.child import Completed

TWO = """\
0, GPU-aaaa, NVIDIA A100-SXM4-40GB, 87, 30000, 40000
1, GPU-bbbb, NVIDIA A100-SXM4-40GB, 0, 0, 40000
"""


def answers(code: int, stdout: str = "") -> Run:
    def run(argv: Sequence[str], timeout_s: float) -> Completed:
        assert argv[0] == "nvidia-smi"
        assert timeout_s > 0
        return Completed(code, stdout.encode())

    return run


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A directory with a program of that name."""
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<END\n{TWO}END\n")
    program.chmod(0o755)
    return str(tmp_path)


def test_a_program_that_answers_is_read(path: str) -> None:
    seen, unknown = gpus({"PATH": path}, local_run({"PATH": f"{path}:/usr/bin:/bin"}))
    assert unknown == ""
    assert [(one.index, one.percent, one.memory_percent) for one in seen] == [
        (0, 87, 75),
        (1, 0, 0),
    ]
    assert seen[0].memory_used_bytes == 30000 * 1024**2


def test_only_the_jobs_own_are_shown_by_number_or_by_uuid() -> None:
    assert [one.index for one in shown_gpus(TWO, "1")] == [1]
    assert [one.index for one in shown_gpus(TWO, "GPU-aaaa")] == [0]
    assert shown_gpus(TWO, "") == []
    assert len(shown_gpus(TWO, None)) == 2


def test_what_a_gpu_does_not_tell_is_null() -> None:
    (one,) = shown_gpus("0, GPU-a, A30 MIG, [N/A], [Not Supported], 24576\n", None)
    assert (one.percent, one.memory_used_bytes, one.memory_percent) == (None, None, None)
    assert one.memory_total_bytes == 24576 * 1024**2


def test_lines_that_are_no_gpu_are_passed_over() -> None:
    assert shown_gpus("Unable to determine the device handle\n\n", None) == []


def test_a_node_without_gpus_has_none_with_and_without_the_program(path: str) -> None:
    assert gpus({"PATH": "/nowhere"}, answers(0, TWO)) == ([], "")
    for code in (6, 9):
        assert gpus({"PATH": path}, answers(code, "No devices were found")) == ([], "")


def test_gpus_that_the_job_was_given_and_that_cannot_be_seen_are_a_reason(path: str) -> None:
    given = {"PATH": path, "CUDA_VISIBLE_DEVICES": "0"}
    assert gpus(given, answers(9, "no driver")) == ([], "no driver")
    assert gpus({"PATH": path}, answers(15, "GPU is lost")) == ([], "GPU is lost")


def test_a_program_that_hangs_is_a_reason(path: str) -> None:
    def hang(argv: Sequence[str], timeout_s: float) -> Completed:
        raise CommandUnanswered(f"`{argv[0]}` gave no answer within {timeout_s:g} s")

    assert gpus({"PATH": path}, hang) == ([], "`nvidia-smi` gave no answer within 4 s")
