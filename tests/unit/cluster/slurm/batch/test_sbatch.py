"""`sbatch` is called once; what becomes of a job whose answer was lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as some

from scratchflow.cluster.slurm.batch.sbatch import (
    Batch,
    max_array_size,
    number_ranges,
    refusal,
    submit_batch,
)
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.model.errors.jobs import JobInDoubt, JobRefused
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.profile import SlurmOptions
from scratchflow.process.child import Completed
from tests.unit.cluster.slurm.conftest import Cluster

JOB = "20261115T093000Z-3f2a9c"


def batch(**more: object) -> Batch:
    given_options = SlurmOptions(time="5:00", partition=str(more.pop("partition", "debug")))
    plain = {"job": JOB, "name": "train", "options": given_options, "script": "/s/script.sh"}
    return Batch(**{**plain, "output": "/s/%a.out", "error": "/s/%a.err", **more})  # type: ignore[arg-type]


def calls(cluster: Cluster) -> int:
    return sum(argv[0] == "sbatch" for argv in cluster.fake.asked)


def test_the_number_is_what_sbatch_says(cluster: Cluster) -> None:
    number = submit_batch(cluster.slurm, batch())
    assert cluster.fake.jobs[number].name == f"train:{JOB}"


def test_a_lost_answer_is_looked_up_by_name_and_nothing_is_submitted_twice(
    cluster: Cluster,
) -> None:
    cluster.fake.sbatch = "loses the answer"
    number = submit_batch(cluster.slurm, batch(), cluster.fake.fake_clock.clock)
    assert cluster.fake.jobs[number].name == f"train:{JOB}"
    assert calls(cluster) == 1


def test_a_lost_order_is_in_doubt_and_not_repeated(cluster: Cluster) -> None:
    cluster.fake.sbatch = "loses the order"
    with pytest.raises(JobInDoubt):
        submit_batch(cluster.slurm, batch(), cluster.fake.fake_clock.clock)
    assert calls(cluster) == 1


def test_a_job_that_slurm_has_though_sbatch_failed_is_not_refused(cluster: Cluster) -> None:
    cluster.fake.sbatch = "breaks after it"
    number = submit_batch(cluster.slurm, batch(), cluster.fake.fake_clock.clock)
    assert cluster.fake.jobs[number].name == f"train:{JOB}"
    assert calls(cluster) == 1


def test_a_refusal_is_in_doubt_when_slurm_cannot_be_asked_about_it(cluster: Cluster) -> None:
    def answers(argv: Sequence[str], timeout_s: float) -> Completed:
        cluster.fake.up = argv[0] == "sbatch"
        return cluster.fake(argv, timeout_s)

    with pytest.raises(JobInDoubt):
        submit_batch(Slurm(answers, "alice", "login"), batch(partition="nowhere"))


def test_without_slurmctld_it_is_in_doubt_too(cluster: Cluster) -> None:
    cluster.fake.up = False
    with pytest.raises((JobInDoubt, SlurmUnreachable)):
        submit_batch(cluster.slurm, batch(), cluster.fake.fake_clock.clock)
    assert calls(cluster) == 1


def test_slurm_is_asked_at_most_every_ten_seconds(cluster: Cluster) -> None:
    cluster.fake.sbatch = "loses the order"
    started = cluster.fake.fake_clock.seconds
    with pytest.raises(JobInDoubt):
        submit_batch(cluster.slurm, batch(), cluster.fake.fake_clock.clock)
    looked = sum(argv[0] == "squeue" for argv in cluster.fake.asked)
    assert (looked - 1) * 10 <= cluster.fake.fake_clock.seconds - started


def test_a_refusal_has_slurms_own_reason(cluster: Cluster) -> None:
    with pytest.raises(JobRefused, match="invalid partition specified: nowhere"):
        submit_batch(cluster.slurm, batch(partition="nowhere"))


def test_the_reason_is_without_the_programs_name() -> None:
    said = "sbatch: error: Memory specification can not be satisfied\nsbatch: error: Batch job submission failed: Requested node configuration is not available\n"
    assert (
        refusal(said)
        == "Memory specification can not be satisfied; Requested node configuration is not available"
    )


def test_what_is_ours_stands_after_what_the_user_adds() -> None:
    argv = batch(more=("--job-name=other", "--output=x")).argv()
    assert argv.index("--job-name=other") < argv.index(f"--job-name=train:{JOB}")
    assert argv.index("--output=x") < argv.index("--output=/s/%a.out")
    assert argv[-1] == "/s/script.sh"


def test_a_job_that_goes_on_may_be_queued_again_whatever_the_user_adds() -> None:
    argv = batch(more=("--no-requeue",), may_requeue=True, signal_before_end_s=300).argv()
    assert argv.index("--no-requeue") < argv.index("--requeue")
    assert "--signal=B:USR1@300" in argv
    assert "--requeue" not in batch().argv()


def test_tasks_are_one_array() -> None:
    assert "--array=0-3,7%2" in batch(tasks=(0, 1, 2, 3, 7), max_parallel=2).argv()
    assert not [word for word in batch().argv() if word.startswith("--array")]


@given(some.sets(some.integers(0, 300), min_size=1))
def test_ranges_name_each_number_once(numbers: set[int]) -> None:
    found: list[int] = []
    for part in number_ranges(sorted(numbers)).split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    assert found == sorted(numbers)


def test_an_array_may_be_as_large_as_the_cluster_says() -> None:
    def says(text: bytes) -> Slurm:
        return Slurm(lambda argv, timeout_s: Completed(0, text), "alice", "login")  # noqa: ARG005

    assert max_array_size(says(b"MaxArraySize            = 5001\n")) == 5001
    assert max_array_size(says(b"")) == 1001
