"""Where a job has its scratch is asked of its node only when nothing else says it."""

from __future__ import annotations

from pathlib import Path

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.config.settings import given_settings
from scratchflow.model.allocation import RunningAllocation
from scratchflow.reach.job_scratch import scratch_of_job
from scratchflow.testing.slurm import FakeSlurm
from scratchflow.workspace.job_scratch import JobScratch, note_scratch

HELD = RunningAllocation(job_id=7, name="x", state="running", nodes=("n1",))


def _asked(scratch: str, home: Path) -> str:
    """Without an `srun` on the PATH: a question to the node would fail."""
    settings = given_settings("aws", {"scratch": scratch}, "a test")
    environment = {"HOME": str(home), "PATH": "/nonexistent"}
    return scratch_of_job(
        settings, HELD, environment, Slurm(FakeSlurm(), "alice", "login"), lambda _: None
    )


def test_a_profile_that_says_it_for_every_host_is_enough(tmp_path: Path) -> None:
    assert _asked("/scratch/$USER", tmp_path) == ""


def test_what_is_noted_is_not_asked_again(tmp_path: Path) -> None:
    found = JobScratch(job_id=7, node="n1", written="$SLURM_TMPDIR", path="/local7")
    note_scratch(tmp_path, "aws", found)
    assert _asked("$SLURM_TMPDIR", tmp_path) == "/local7"
