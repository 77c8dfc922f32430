"""The fake Slurm as programs: each is a real one, and all of them see the same cluster."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scratchflow.testing.slurm import FakeJob
from scratchflow.testing.slurm_programs import PROGRAMS, SlurmPrograms


@pytest.fixture
def programs(tmp_path: Path) -> SlurmPrograms:
    return SlurmPrograms(tmp_path, "ada")


def run(programs: SlurmPrograms, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [str(programs.directory / name), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_what_a_test_changes_the_next_program_sees(programs: SlurmPrograms) -> None:
    with programs.slurm() as slurm:
        slurm.jobs[7] = FakeJob(7, "name", "ada", "RUNNING", nodes="node-1")
    shown = run(programs, "squeue", "--noheader", "--format=%A|%T", "--user=ada")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == "7|RUNNING\n"


def test_what_a_program_changes_the_test_sees(programs: SlurmPrograms) -> None:
    with programs.slurm() as slurm:
        slurm.jobs[7] = FakeJob(7, "name", "ada")
    assert run(programs, "scancel", "7").returncode == 0
    with programs.slurm() as slurm:
        assert slurm.jobs[7].state.startswith("CANCELLED")
        assert slurm.asked[-1] == ["scancel", "7"]


def test_a_refused_request_ends_with_slurms_words_and_no_job(programs: SlurmPrograms) -> None:
    refused = run(programs, "salloc", "--partition=none", "--no-shell")
    assert refused.returncode == 1
    assert "invalid partition specified: none" in refused.stderr
    with programs.slurm() as slurm:
        assert slurm.jobs == {}


def test_when_slurm_is_down_every_program_fails(programs: SlurmPrograms) -> None:
    with programs.slurm() as slurm:
        slurm.up = False
    failed = [name for name in ("squeue", "scontrol", "salloc") if run(programs, name).returncode]
    assert failed == ["squeue", "scontrol", "salloc"]
    assert {path.name for path in programs.directory.iterdir()} == {*PROGRAMS, "state.json"}


def test_a_change_that_fails_half_way_is_not_written(programs: SlurmPrograms) -> None:
    def half() -> None:
        with programs.slurm() as slurm:
            slurm.jobs[1] = FakeJob(1, "name")
            slurm.jobs.pop(2)

    with pytest.raises(KeyError):
        half()
    with programs.slurm() as slurm:
        assert slurm.jobs == {}


def test_a_state_that_became_smaller_can_be_read_again(programs: SlurmPrograms) -> None:
    with programs.slurm() as slurm:
        slurm.jobs = {number: FakeJob(number, "name") for number in range(1, 9)}
    with programs.slurm() as slurm:
        slurm.jobs.clear()
    with programs.slurm() as slurm:
        assert slurm.jobs == {}
