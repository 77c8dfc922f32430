"""The ways to write a time limit: people's and Slurm's own."""

import pytest

from scratchflow.model.time_limit import as_slurm_takes_it, in_minutes, slurm_time, time_limit_s


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


def test_a_bare_number_is_shown_with_its_unit() -> None:
    assert (in_minutes("2"), in_minutes("2:00"), in_minutes("1-0")) == ("2 min", "2:00", "1-0")


@pytest.mark.parametrize("seconds", [1, 600, 28800, 86400, 217801])
def test_a_limit_that_we_write_is_read_back(seconds: int) -> None:
    assert time_limit_s(slurm_time(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "limit"),
    [("10m", "00:10:00"), ("1h 30m", "01:30:00"), ("2d", "2-00:00:00"), ("90", "90"), ("", "")],
)
def test_what_people_write_becomes_what_salloc_takes(text: str, limit: str) -> None:
    assert as_slurm_takes_it(text) == limit


@pytest.mark.parametrize("text", ["soon", "0h", "10 minutes", "8:00:00\n"])
def test_what_is_no_time_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ValueError, match="`8h`"):
        as_slurm_takes_it(text)
