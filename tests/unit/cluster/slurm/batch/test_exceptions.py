"""What lets a job exceed its partition is known from Slurm's own words, and what is not known counts as possible."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.batch.exceptions import may_be_changed, may_exceed_time
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.testing.slurm import FakeSlurm


def asked(fake: FakeSlurm) -> Slurm:
    return Slurm(fake, "alice", "login")


@pytest.mark.parametrize(
    ("plugins", "may"),
    [
        ("(null)", False),
        ("job_submit/require_timelimit", False),
        ("require_timelimit,lua", True),
        ("job_submit/all_partitions", True),
    ],
)
def test_a_program_of_the_site_may_make_another_job_of_it(plugins: str, *, may: bool) -> None:
    assert may_be_changed(asked(FakeSlurm(job_submit=plugins))) is may


@pytest.mark.parametrize(
    ("qos", "may"),
    [
        (None, False),
        (["", "DenyOnLimit"], False),
        (["", "DenyOnLimit,PartitionTimeLimit"], True),
        (["OverPartQOS"], True),
    ],
)
def test_a_qos_may_allow_more_time(qos: list[str] | None, *, may: bool) -> None:
    assert may_exceed_time(asked(FakeSlurm(qos_flags=qos))) is may


def test_a_database_that_gives_no_answer_counts_as_one_that_may() -> None:
    assert may_exceed_time(asked(FakeSlurm(accounted={1: ""})))


def test_what_slurm_does_not_say_counts_as_possible() -> None:
    silent = asked(FakeSlurm(up=False))
    assert may_be_changed(silent)
    assert may_exceed_time(silent)
