"""When the next automatic backup starts."""

from __future__ import annotations

from scratchflow.flows.schedule import Schedule

DAILY = Schedule(every_s=1800, final_before_s=600)


def test_the_next_one_comes_within_the_interval_and_spread_by_a_tenth() -> None:
    assert DAILY.next_regular(1000, 0) == 2800
    assert DAILY.next_regular(1000, 1) == 2620


def test_the_last_one_starts_early_enough_for_twice_the_time_of_the_one_before() -> None:
    assert DAILY.final(0, 10_000, last_duration_s=1) == 9400
    assert DAILY.final(0, 10_000, last_duration_s=400) == 10_000 - 920
    assert DAILY.final(0, None, last_duration_s=1) is None


def test_in_a_short_job_the_last_one_is_not_the_first() -> None:
    assert DAILY.final(9_400, 10_000, last_duration_s=1) == 9_700


def test_after_a_failure_it_tries_again_soon() -> None:
    assert DAILY.retry(100) == 160
    assert Schedule(every_s=10, final_before_s=1).retry(100) == 110


def test_the_final_one_comes_even_when_its_time_has_passed() -> None:
    due = DAILY.next_due(9900, regular_s=11_000, final_s=9400, final_done=False)
    assert due == 9900


def test_the_regular_ones_go_on_after_the_final_one() -> None:
    due = DAILY.next_due(9500, regular_s=9900, final_s=9400, final_done=True)
    assert due == 9900
