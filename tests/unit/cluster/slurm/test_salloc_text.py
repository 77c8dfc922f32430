"""What `salloc` says, as Slurm 22.05 was heard to say it unless marked otherwise."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.salloc_text import failure, job_id_in, refusal, was_granted
from scratchflow.model.errors.allocation import AllocationEnded, AllocationRefused
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.testing.slurm import FakeSlurm

SLURM = Slurm(FakeSlurm(), "alice", "login")
SUBMIT = "salloc: error: Job submit/allocate failed: "


@pytest.mark.parametrize(
    ("said", "job_id", "granted"),
    [
        ("", None, False),
        ("salloc: Granted job allocation 5\n", 5, True),
        ("salloc: Pending job allocation 61\nsalloc: job 61 queued and waiting\n", 61, False),
        ("salloc: job 61 queued and waiting for resources\n", 61, False),
        (
            (
                "salloc: Pending job allocation 61\nsalloc: job 61 has been allocated resources\n"
                "salloc: Granted job allocation 61\n"
            ),
            61,
            True,
        ),
        (
            (
                "salloc: Granted job allocation 9\nsalloc: Waiting for resource configuration\n"
                "salloc: Nodes node-1 are ready for job\n"
            ),
            9,
            True,
        ),
    ],
)
def test_number_and_grant(said: str, job_id: int | None, granted: bool) -> None:
    assert (job_id_in(said), was_granted(said)) == (job_id, granted)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            ("salloc: error: invalid partition specified: nosuch\n"
            f"{SUBMIT}Invalid partition name specified\n"),
            "invalid partition specified: nosuch; Invalid partition name specified",
        ),
        (
            ("salloc: error: Memory specification can not be satisfied\n"
            f"{SUBMIT}Requested node configuration is not available\n"),
            "Memory specification can not be satisfied; Requested node configuration is not available",
        ),
        (
            f"salloc: Job allocation 9 has been revoked.\n{SUBMIT}Requested node configuration is not available\n",
            "Requested node configuration is not available",
        ),
        ("salloc: error: Invalid --time specification\n", "Invalid --time specification"),
        (
            "salloc: unrecognized option '--x'\nTry \"salloc --help\" for more information\n",
            "unrecognized option '--x'",
        ),
        (
            "salloc: error: Unable to allocate resources: Connection timed out\n",  # --immediate
            "Connection timed out",
        ),
        # As a site's job_submit.lua says it.
        (
            f"salloc: error: lab: choose an account\nsalloc: error: lab: see the wiki\n{SUBMIT}Unspecified error\n",
            "lab: choose an account; lab: see the wiki; Unspecified error",
        ),
        # After the sources of 20.11 and 23.11.
        (f"{SUBMIT}Invalid account or account/partition combination specified\n",) * 2,
        (f"{SUBMIT}Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n",)
        * 2,
    ],
)  # fmt: skip
def test_a_refusal_is_told_in_slurms_words(said: str, reason: str) -> None:
    expected = reason.removeprefix(SUBMIT).strip()
    assert refusal(said) == expected
    error = failure(said, SLURM, "aws")
    assert isinstance(error, AllocationRefused)
    assert expected in str(error)


@pytest.mark.parametrize(
    "words",
    [
        "Unable to contact slurm controller (connect failure)",
        # After the sources of 20.11 to 24.11.
        "Socket timed out on send/recv operation",
        "Zero Bytes were transmitted or received",
        "Slurm backup controller in standby mode",
        "Protocol authentication error",
        "Slurm temporarily unable to accept job, sleeping and retrying",
    ],
)
def test_nobody_answering_is_no_refusal(words: str) -> None:
    error = failure(f"{SUBMIT}{words}\n", SLURM, "aws")
    assert isinstance(error, SlurmUnreachable)
    assert words in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "salloc: Pending job allocation 61\nsalloc: Job aborted due to signal\n",
        (
            "salloc: Pending job allocation 61\nsalloc: Job has been cancelled\n"
            f"{SUBMIT}Job/step already completing or completed\n"
        ),
    ],
)
def test_a_request_ended_from_outside_was_not_refused(said: str) -> None:
    error = failure(said, SLURM, "aws")
    assert isinstance(error, AllocationEnded)
    assert "job 61" in str(error)


def test_a_silent_death_means_nothing_by_itself() -> None:
    assert failure("", SLURM, "aws") is None
    assert (
        failure("salloc: Pending job allocation 61\n\nPane is dead (status 1)", SLURM, "a") is None
    )
