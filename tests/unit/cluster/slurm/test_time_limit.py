"""Slurm's own ways to write a time limit."""

import pytest

from scratchflow.cluster.slurm.time_limit import slurm_time, time_limit_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("30:00", 1800),
        ("8:00:00", 28800),
        ("2-12", 216000),
        ("2-12:30", 217800),
        ("1-00:00:01", 86401),
        ("UNLIMITED", None),
        ("", None),
    ],
)
def test_a_limit_is_read_as_salloc_reads_it(text: str, seconds: int | None) -> None:
    assert time_limit_s(text) == seconds


@pytest.mark.parametrize("seconds", [1, 600, 28800, 86400, 217801])
def test_a_limit_that_we_write_is_read_back(seconds: int) -> None:
    assert time_limit_s(slurm_time(seconds)) == seconds
