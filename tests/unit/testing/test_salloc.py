"""The fake `salloc` speaks and ends as the real one was heard to, for every way a request can go."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.salloc_text import job_id_in, was_granted
from scratchflow.testing.salloc import FakeSalloc
from scratchflow.testing.slurm import FakeSlurm

ARGV = ["salloc", "--job-name=ours", "--nodelist=node-1", "--time=5"]


@pytest.fixture
def slurm() -> FakeSlurm:
    return FakeSlurm()


def test_a_free_node_is_granted_at_once(slurm: FakeSlurm) -> None:
    salloc = FakeSalloc(slurm)
    assert salloc.exit_code() is None
    salloc.start(ARGV)
    assert was_granted(salloc.said())
    assert job_id_in(salloc.said()) == salloc.job_id
    assert salloc.exit_code() == 0


def test_one_that_waits_is_granted_when_slurm_says_so(slurm: FakeSlurm) -> None:
    other = slurm.add("in the way")
    salloc = FakeSalloc(slurm)
    salloc.start(ARGV)
    assert not was_granted(salloc.said())
    assert salloc.exit_code() is None
    slurm.jobs[other].state = "COMPLETED"
    slurm.schedule()
    assert was_granted(salloc.said())
    assert salloc.exit_code() == 0


def test_one_that_is_stopped_withdraws_its_request_and_no_granted_one(slurm: FakeSlurm) -> None:
    slurm.add("in the way")
    waiting = FakeSalloc(slurm)
    waiting.start(ARGV)
    waiting.stop()
    assert slurm.jobs[waiting.job_id].state == "CANCELLED"
    assert waiting.exit_code() == 1
    granted = FakeSalloc(slurm)
    granted.start([*ARGV[:2], "--nodelist=node-2"])
    assert granted.exit_code() == 0
    granted.stop()
    assert slurm.jobs[granted.job_id].state == "RUNNING"


@pytest.mark.parametrize("wrong", ["--partition=nosuch", "--nodelist=nosuch"])
def test_a_refusal_is_told_and_leaves_no_job(slurm: FakeSlurm, wrong: str) -> None:
    salloc = FakeSalloc(slurm)
    salloc.start([*ARGV, wrong])
    assert "error" in salloc.said()
    assert salloc.exit_code() == 1
    assert slurm.jobs == {}


def test_one_that_is_cancelled_from_elsewhere_says_so(slurm: FakeSlurm) -> None:
    slurm.add("in the way")
    salloc = FakeSalloc(slurm)
    salloc.start(ARGV)
    slurm.jobs[salloc.job_id].state = "CANCELLED"
    assert "Job has been cancelled" in salloc.said()
    assert salloc.exit_code() == 1
