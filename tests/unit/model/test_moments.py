"""Moments as people write them."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model.ages import wall_time
from scratchflow.model.moments import read_moment
from scratchflow.model.zone import Zone

UTC = Zone()
# Monday 16 November 2026, 10:30.
NOW_S = datetime(2026, 11, 16, 10, 30, tzinfo=timezone.utc).timestamp()
# Berlin around the end of summer time, on 25 October 2026 at 1:00 UTC, and around its beginning.
BERLIN = Zone(((0, 3600), (1774746000, 7200), (1792890000, 3600)))


def until(text: str, now_s: float = NOW_S, zone: Zone = UTC) -> str | None:
    moment = read_moment(text, now_s, zone)
    return None if moment is None else f"{zone.local(moment.until_s):%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yesterday", "2026-11-15 23:59:59"),
        ("Yesterday", "2026-11-15 23:59:59"),
        ("today", "2026-11-16 23:59:59"),
        ("monday", "2026-11-09 23:59:59"),  # today is one, and is called today
        ("sun", "2026-11-15 23:59:59"),
        ("last friday", "2026-11-13 23:59:59"),
        ("friday 18:00", "2026-11-13 18:00:59"),
        ("10:30", "2026-11-16 10:30:59"),
        ("10:31", "2026-11-15 10:31:59"),
        ("10:30:00", "2026-11-16 10:30:00"),
        ("10:30:01", "2026-11-15 10:30:01"),
        ("9:05", "2026-11-16 09:05:59"),
        ("9:05 pm", "2026-11-15 21:05:59"),
        ("12:00am", "2026-11-16 00:00:59"),
        ("at 9:05", "2026-11-16 09:05:59"),
        ("yesterday at 9:05", "2026-11-15 09:05:59"),
        ("yesterday  9:05", "2026-11-15 09:05:59"),
        ("2026-11-15", "2026-11-15 23:59:59"),
        ("2026-11-15 9:05", "2026-11-15 09:05:59"),
        ("2026-11-15T09:05:07Z", "2026-11-15 09:05:07"),
        ("15 Nov", "2026-11-15 23:59:59"),
        ("Nov 15", "2026-11-15 23:59:59"),
        ("15 November 17:40", "2026-11-15 17:40:59"),
        ("17 Nov", "2025-11-17 23:59:59"),
        ("15 Nov 2024 17:40", "2024-11-15 17:40:59"),
        ("2 hours ago", "2026-11-16 08:30:00"),
        ("an hour ago", "2026-11-16 09:30:00"),
        ("90 min ago", "2026-11-16 09:00:00"),
        ("1h30m ago", "2026-11-16 09:00:00"),
        ("3 days ago", "2026-11-13 10:30:00"),
        ("2 weeks ago", "2026-11-02 10:30:00"),
    ],
)
def test_words_mean_the_moment_that_a_person_means(text: str, expected: str) -> None:
    assert until(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "latest", "570643", "dec", "ago", "x ago", "2 apples ago", "12", "mo", "@a", "12:3"],
)
def test_anything_else_is_no_moment(text: str) -> None:
    assert until(text) is None


@pytest.mark.parametrize(
    "text", ["24:00", "9:60", "13:00 pm", "2026-13-01", "31 feb", "0000-01-01"]
)
def test_what_no_calendar_has_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ValueError, match=f"`{text.lower()}`"):
        until(text)


@given(st.text(max_size=30))
def test_no_text_is_a_crash(text: str) -> None:
    with suppress(ValueError):
        until(text)


def test_a_day_is_as_long_as_it_was() -> None:
    now_s = datetime(2026, 10, 26, 12, tzinfo=timezone.utc).timestamp()
    long_day = read_moment("yesterday", now_s, BERLIN)
    assert long_day
    assert long_day.until_s + 1 - long_day.since_s == 25 * 3600
    now_s = datetime(2026, 3, 30, 12, tzinfo=timezone.utc).timestamp()
    short_day = read_moment("yesterday", now_s, BERLIN)
    assert short_day
    assert short_day.until_s + 1 - short_day.since_s == 23 * 3600


def test_a_time_that_came_twice_means_the_second_and_one_that_was_skipped_the_minute_before() -> (
    None
):
    now_s = datetime(2026, 10, 26, 12, tzinfo=timezone.utc).timestamp()
    twice = read_moment("yesterday 2:30", now_s, BERLIN)
    assert twice
    assert twice.until_s == datetime(2026, 10, 25, 1, 30, 59, tzinfo=timezone.utc).timestamp()
    assert until("2026-03-29 2:30", now_s, BERLIN) == "2026-03-29 01:59:59"


def test_days_are_those_of_the_askers_zone() -> None:
    late_s = datetime(2026, 11, 15, 23, 30, tzinfo=timezone.utc).timestamp()
    assert until("yesterday", late_s, UTC) == "2026-11-14 23:59:59"
    assert until("yesterday", late_s, BERLIN) == "2026-11-15 23:59:59"


@given(st.integers(int(NOW_S) - 700 * 86400, int(NOW_S)), st.sampled_from([UTC, BERLIN]))
def test_a_time_copied_from_a_list_finds_the_snapshot_beside_it(taken_s: int, zone: Zone) -> None:
    """The minute that a list shows contains the moment, except where clocks showed it twice."""
    moment = read_moment(wall_time(taken_s, NOW_S, zone), NOW_S, zone)
    assert moment is not None
    assert taken_s <= moment.until_s
    assert zone.local(moment.until_s) - zone.local(taken_s) < timedelta(minutes=1)
