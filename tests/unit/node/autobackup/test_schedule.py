"""When the next automatic backup starts, also when the clock of the node is set."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from scratchflow.node.autobackup.schedule import Moment, Schedule, Timetable

DAILY = Schedule(every_s=1800, final_before_s=600)
HOUR_S = 3600.0


@dataclass
class Clocks:
    """A wall clock that somebody sets, and one that nobody can."""

    wall_s: float = 1_000_000_000.0
    monotonic_s: float = 500.0

    @property
    def now(self) -> Moment:
        return Moment(wall_s=self.wall_s, monotonic_s=self.monotonic_s)

    def pass_by(self, seconds: float) -> None:
        self.wall_s += seconds
        self.monotonic_s += seconds

    def step(self, seconds: float) -> None:
        """`date -s`, or a time server that was wrong."""
        self.wall_s += seconds


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def start(clocks: Clocks, newest_age_s: float | None = 0.0) -> Timetable:
    return Timetable(DAILY, clocks.now, newest_age_s, chance=0)


def wait_s(table: Timetable, clocks: Clocks, end_s: float | None = None) -> float:
    return table.wait_s(clocks.now, end_s, last_duration_s=1)


def test_the_next_one_comes_within_the_interval_and_spread_by_a_tenth() -> None:
    assert DAILY.regular_in_s(0) == 1800
    assert DAILY.regular_in_s(1) == 1620


def test_the_first_one_counts_from_the_newest_snapshot(clocks: Clocks) -> None:
    assert wait_s(start(clocks, newest_age_s=600), clocks) == 1200
    assert wait_s(start(clocks, newest_age_s=9000), clocks) == 0
    assert wait_s(start(clocks, newest_age_s=None), clocks) == 0


def test_a_snapshot_from_the_future_delays_by_no_more_than_the_interval(clocks: Clocks) -> None:
    assert wait_s(start(clocks, newest_age_s=-5 * HOUR_S), clocks) == 1800


@pytest.mark.parametrize("step_s", [-5 * HOUR_S, 5 * HOUR_S])
def test_setting_the_clock_moves_no_regular_backup(clocks: Clocks, step_s: float) -> None:
    table = start(clocks)
    clocks.pass_by(1000)
    clocks.step(step_s)
    assert wait_s(table, clocks) == 800
    clocks.pass_by(800)
    assert wait_s(table, clocks) == 0
    table.succeeded(clocks.now, chance=0, final=False)
    clocks.step(-step_s)
    assert wait_s(table, clocks) == 1800


def test_the_last_one_starts_early_enough_for_twice_the_time_of_the_one_before() -> None:
    assert DAILY.final_in_s(10_000, elapsed_s=0, last_duration_s=1) == 9400
    assert DAILY.final_in_s(10_000, elapsed_s=0, last_duration_s=400) == 10_000 - 920


def test_in_a_short_job_the_last_one_is_not_the_first() -> None:
    assert DAILY.final_in_s(600, elapsed_s=0, last_duration_s=1) == 300
    assert DAILY.final_in_s(400, elapsed_s=200, last_duration_s=1) == 100


def test_after_a_failure_it_tries_again_soon(clocks: Clocks) -> None:
    table = start(clocks)
    table.failed(clocks.now)
    assert wait_s(table, clocks) == 60
    # Also when the last one is due: it would be tried again and again without a pause.
    assert wait_s(table, clocks, end_s=clocks.wall_s + 10) == 60


def test_the_final_one_comes_even_when_its_time_has_passed_and_regular_ones_go_on(
    clocks: Clocks,
) -> None:
    table = start(clocks)
    end_s = clocks.wall_s + 1600
    assert wait_s(table, clocks, end_s) == 1000
    clocks.pass_by(1200)
    assert wait_s(table, clocks, end_s) == 0
    assert table.is_final(clocks.now, end_s, last_duration_s=1)
    table.succeeded(clocks.now, chance=0, final=True)
    assert not table.is_final(clocks.now, end_s, last_duration_s=1)
    assert wait_s(table, clocks, end_s) == 1800


def test_a_job_that_is_extended_gets_another_last_one(clocks: Clocks) -> None:
    table = start(clocks)
    end_s = clocks.wall_s + 1600
    clocks.pass_by(1000)
    table.succeeded(clocks.now, chance=0, final=True)
    assert wait_s(table, clocks, end_s) == 1800
    assert wait_s(table, clocks, end_s + 500) == 500


def test_a_last_one_taken_by_a_wrong_clock_does_not_replace_the_true_one(clocks: Clocks) -> None:
    table = start(clocks)
    end_s = clocks.wall_s + 8 * HOUR_S
    clocks.step(9 * HOUR_S)
    assert table.is_final(clocks.now, end_s, last_duration_s=1)
    table.succeeded(clocks.now, chance=0, final=True)
    clocks.step(-9 * HOUR_S)
    clocks.pass_by(8 * HOUR_S - 600)
    assert table.is_final(clocks.now, end_s, last_duration_s=1)


def test_where_scratch_goes_with_the_job_more_follow_the_last_one_up_to_the_end(
    clocks: Clocks,
) -> None:
    table = Timetable(Schedule(1800, 600, scratch_goes=True), clocks.now, 0.0, chance=0)
    end_s = clocks.wall_s + 1600
    clocks.pass_by(1000)
    table.succeeded(clocks.now, chance=0, final=True)
    waited = []
    while (due_s := wait_s(table, clocks, end_s)) < end_s - clocks.wall_s:
        waited.append(due_s)
        clocks.pass_by(due_s)
        assert wait_s(table, clocks, end_s) == 0
        assert not table.is_final(clocks.now, end_s, last_duration_s=1)
        table.succeeded(clocks.now, chance=0, final=False)
    assert waited == [300, 150, 75, 37.5]


def test_it_is_known_why_the_next_one_is_due(clocks: Clocks) -> None:
    table = start(clocks)
    end_s = clocks.wall_s + HOUR_S

    def why() -> str:
        return table.why(clocks.now, end_s, last_duration_s=1)

    assert why() == "regular"
    table.failed(clocks.now)
    assert why() == "retry"
    table.succeeded(clocks.now, 0, final=False)
    clocks.pass_by(1800)
    table.succeeded(clocks.now, 0, final=False)
    assert why() == "final"
    assert wait_s(table, clocks, end_s) < 1800
    clocks.pass_by(1200)
    table.succeeded(clocks.now, 0, final=True)
    assert why() == "regular"
    going = Schedule(every_s=1800, final_before_s=600, scratch_goes=True)
    table = Timetable(going, clocks.now, 0.0, chance=0)
    end_s = clocks.wall_s + HOUR_S
    clocks.pass_by(3000)
    table.succeeded(clocks.now, 0, final=True)
    assert why() == "closing"
