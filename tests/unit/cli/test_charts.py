"""Bars and timelines of `status --watch`."""

from __future__ import annotations

from scratchflow.cli.charts import SLOT_S, SLOTS, day_line, time_bar


def test_the_bar_empties_with_the_time() -> None:
    assert time_bar(100, 100, 4) == "████"
    assert time_bar(50, 100, 4) == "██░░"
    assert time_bar(0, 100, 4) == "░░░░"
    assert time_bar(5, 0, 4) == ""


def test_a_day_has_its_newest_snapshot_at_the_right_and_the_largest_highest() -> None:
    now_s = 1_000_000.0
    line = day_line([(now_s - 1, 1 << 30), (now_s - SLOT_S - 1, 1 << 10)], now_s)
    assert len(line) == SLOTS
    assert line[-1] == "█"
    assert line[-2] not in "·█"
    assert set(line[:-2]) == {"·"}


def test_what_is_older_than_a_day_or_in_the_future_is_not_drawn() -> None:
    now_s = 1_000_000.0
    assert set(day_line([(now_s - 90_000, 5), (now_s + 7200, 5)], now_s)) == {"·"}
