"""A zone as numbers: what this machine's clock shows, also around a change of summer time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model.zone import Zone, local_zone

NOW_S = datetime(2026, 11, 16, 9, 30, tzinfo=timezone.utc).timestamp()
YEAR_S = 365 * 86400


@contextmanager
def zone_of(name: str) -> Iterator[Zone]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        yield local_zone(NOW_S)
    time.tzset()


# As rules, so that no list of zones is needed: Berlin, New York, Kolkata, Lord Howe (half an hour), Beirut (midnight).
ZONES = [
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "IST-5:30",
    "LHST-10:30LHDT-11,M10.1.0,M4.1.0",
    "EET-2EEST,M3.5.0/0,M10.5.0/0",
]


@pytest.mark.parametrize("name", ZONES)
def test_it_shows_what_the_clock_on_the_wall_shows(name: str) -> None:
    with zone_of(name) as zone:
        for utc_s in range(int(NOW_S - 4.9 * YEAR_S), int(NOW_S + YEAR_S), 3 * 3600 + 61):
            assert zone.local(utc_s) == datetime.fromtimestamp(utc_s), utc_s


@given(st.sampled_from(ZONES), st.integers(int(NOW_S - 4 * YEAR_S), int(NOW_S)))
def test_a_wall_time_means_a_moment_that_shows_it(name: str, utc_s: int) -> None:
    with zone_of(name) as zone:
        wall = zone.local(utc_s)
        first_s, last_s = zone.utc(wall, first=True), zone.utc(wall)
        assert zone.local(first_s) == zone.local(last_s) == wall
        assert first_s <= utc_s <= last_s


def test_clocks_set_back_show_a_time_twice_and_clocks_set_forward_skip_one() -> None:
    with zone_of("CET-1CEST,M3.5.0,M10.5.0/3") as zone:
        twice = datetime(2026, 10, 25, 2, 30)
        assert zone.utc(twice) - zone.utc(twice, first=True) == 3600
        skipped_s = zone.utc(datetime(2026, 3, 29, 2, 30))
        assert zone.local(skipped_s) == datetime(2026, 3, 29, 1, 59)
        set_s = zone.utc(datetime(2026, 3, 29, 2, 30), first=True)
        assert zone.local(set_s) == datetime(2026, 3, 29, 3, 0)


def test_without_offsets_it_is_utc_and_before_the_first_it_is_the_first() -> None:
    assert Zone().local(0) == datetime(1970, 1, 1)
    assert Zone(((1000, 3600), (2000, 7200))).offset_at(0) == 3600
