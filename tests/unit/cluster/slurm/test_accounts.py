"""Whether Slurm takes a job without an account is read from what it says; nothing is submitted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from scratchflow.cluster.command import CommandMissing, CommandUnanswered
from scratchflow.cluster.slurm.accounts import Accounts, accounts, read_refusal
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.process.child import Completed
from scratchflow.testing.command import completed

# As the filter of the Alliance's clusters prints it.
SEVERAL = """\
sbatch: error: ----------------------------------------
sbatch: error: You are associated with multiple _cpu allocations...
sbatch: error: Please specify one of the following accounts to submit this job:
sbatch: error:   RAS default accounts: def-cronk, def-henryg,
sbatch: error:           RAC accounts: rpp-rieseber,
sbatch: error: Compute-Burst accounts:
sbatch: error: Use the parameter --account=desired_account when submitting your job
sbatch: error: ----------------------------------------
sbatch: error: Batch job submission failed: Unspecified error
"""
ENFORCED = (
    "allocation failure: Invalid account or account/partition combination specified\n"
    "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n"
)
# What it prints for a job that it would take.
TAKEN = "sbatch: Job 3 to start at 2026-11-16T18:00:00 using 1 processors on nodes node-1 in partition debug\n"


def slurm(sbatch: Completed, sacctmgr: Completed) -> Slurm:
    def run(argv: Sequence[str], timeout_s: float) -> Completed:
        assert timeout_s
        if argv[0] == "sacctmgr":
            assert "user=alice" in argv
            return sacctmgr
        assert argv[:2] == ["sbatch", "--test-only"]
        return sbatch

    return Slurm(run, "alice", "login")


def test_the_accounts_that_a_site_lists_are_read() -> None:
    refusal, names = read_refusal(SEVERAL)
    assert refusal == "Please specify one of the following accounts to submit this job"
    assert names == ["def-cronk", "def-henryg", "rpp-rieseber"]


def test_slurms_own_refusal_goes_with_the_accounts_that_it_knows() -> None:
    known = completed(0, "def-a\nrrg-b\ndef-a\n\n")
    found = accounts(slurm(completed(1, "", ENFORCED), known))
    assert "Invalid account" in found.refusal
    assert found.names == ("def-a", "rrg-b")


@pytest.mark.parametrize(
    "sbatch",
    [
        completed(0, "", TAKEN),
        completed(1, "", "sbatch: error: Batch job submission failed: Requested time limit\n"),
        completed(1, "", "sbatch: error: Unable to contact slurm controller for account x\n"),
    ],
)
def test_a_job_that_is_taken_or_refused_for_something_else_needs_none(sbatch: Completed) -> None:
    assert accounts(slurm(sbatch, completed(0, "root\n"))) == Accounts("", ("root",))


def test_foreign_words_are_no_accounts() -> None:
    said = "You don't have permission to perform this action\n"
    assert accounts(slurm(completed(0), completed(1, said, said))) == Accounts()
    assert accounts(slurm(completed(0), completed(0, "a b\n$(x)\n-o\n"))) == Accounts()


@pytest.mark.parametrize("error", [CommandMissing("sbatch"), CommandUnanswered("late")])
def test_a_slurm_that_does_not_answer_says_nothing(error: Exception) -> None:
    def run(argv: Sequence[str], timeout_s: float) -> Completed:
        assert argv
        assert timeout_s
        raise error

    assert accounts(Slurm(run, "alice", "login")) == Accounts()
