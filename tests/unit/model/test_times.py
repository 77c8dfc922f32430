"""Times travel as text and come back the same; what is no time is nothing, never an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model.times import epoch, iso_time


@given(st.integers(min_value=0, max_value=253_402_300_799))
def test_a_time_comes_back_to_the_second(seconds: int) -> None:
    text = iso_time(seconds)
    assert text
    assert text.endswith("Z")
    assert epoch(text) == seconds


def test_fractions_are_cut_and_the_zone_of_the_machine_plays_no_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    assert iso_time(1_800_000_000.99) == "2027-01-15T08:00:00Z"
    assert epoch("2027-01-15T08:00:00.990Z") == 1_800_000_000


@pytest.mark.parametrize("seconds", [None, 1e12, 1e18, 1e300, float("inf"), float("nan"), -1e15])
def test_a_time_past_every_calendar_is_none(seconds: float | None) -> None:
    assert iso_time(seconds) is None


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "soon",
        "2026-13-01T00:00:00Z",
        "2026-11-15",
        "20261115T080000Z",
        "2026-W47-1T08:00:00Z",
        "\0",
    ],
)
def test_what_is_no_time_is_none(text: str | None) -> None:
    assert epoch(text) is None
