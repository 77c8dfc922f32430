"""What `sbatch --test-only` says, as a refusal, as a doubt, or as nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from scratchflow.cluster.slurm.batch.sbatch import Batch
from scratchflow.cluster.slurm.batch.trial import try_batch
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.model.errors.jobs import JobRefused
from scratchflow.process.child import Completed
from scratchflow.testing.command import completed
from tests.unit.cluster.slurm.batch.test_sbatch import batch
from tests.unit.cluster.slurm.conftest import Cluster


def tried(said: str, code: int = 1) -> str:
    def run(argv: Sequence[str], timeout_s: float) -> Completed:
        del argv, timeout_s
        return completed(code, "", said)

    return try_batch(Slurm(run, "alice", "login"), batch(), [])


def test_a_job_that_is_taken_is_not_submitted(cluster: Cluster) -> None:
    before = set(cluster.fake.jobs)
    assert try_batch(cluster.slurm, batch(), []) == ""
    assert set(cluster.fake.jobs) == before


@pytest.mark.parametrize(
    "said",
    [
        "allocation failure: Invalid account or account/partition combination specified",
        "allocation failure: User's group not permitted to use this partition",
        "sbatch: error: name an account: def-a, def-b\nallocation failure: Unspecified error",
        "sbatch: error: Invalid --mem specification",
        "sbatch: unrecognized option '--nope'\nTry \"sbatch --help\" for more information",
    ],
)
def test_what_sbatch_would_be_refused_for_is_refused(said: str) -> None:
    with pytest.raises(JobRefused) as refused:
        tried(said)
    assert "allocation failure" not in str(refused.value)
    assert "Try" not in str(refused.value)


@pytest.mark.parametrize(
    "said",
    [
        "Requested node configuration is not available",
        "Required node not available (down, drained or reserved)",
        "Requested time limit is invalid (missing or exceeds some limit)",
        "Requested partition configuration not available now",
    ],
)
def test_what_may_be_so_only_now_is_a_doubt(said: str) -> None:
    assert said in tried(f"allocation failure: {said}")


def test_without_an_answer_it_is_not_known(cluster: Cluster) -> None:
    cluster.fake.up = False
    assert "is not known" in try_batch(cluster.slurm, batch(), [])
    assert "Slurm may refuse this" in tried("", code=-9)


def test_the_scripts_own_lines_come_first_and_no_script_is_named() -> None:
    one: Batch = batch(more=("--mem=2G",))
    argv = one.trial_argv(["--mem=1G", "--nice"])
    assert argv[:5] == ["sbatch", "--test-only", "--wrap=true", "--mem=1G", "--nice"]
    assert argv.index("--mem=1G") < argv.index("--mem=2G")
    assert one.script not in argv
    assert argv[5:] == one.argv()[2:-1]
