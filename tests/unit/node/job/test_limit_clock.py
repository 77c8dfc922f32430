"""A command hears of its time limit by the node's own clock, in time and once it can listen."""

from __future__ import annotations

import math

import pytest

from scratchflow.node.job.limit_clock import READY_S, LimitClock


class Limit:
    """A time limit that others may change, and a clock that stands still."""

    def __init__(self, end_s: float | None, before_s: float = 100) -> None:
        self.end_s, self.now_s, self.asked = end_s, 1000.0, 0
        self.clock = LimitClock(before_s, self.ask, lambda: self.now_s)

    def ask(self) -> float | None:
        self.asked += 1
        return self.end_s


def test_it_is_due_when_so_much_is_left() -> None:
    limit = Limit(1300)
    limit.clock.command_begins(is_heard=False)
    assert (limit.clock.due_in_s(), limit.clock.is_due()) == (200, False)
    limit.now_s = 1200
    assert (limit.clock.is_due(), limit.clock.left_s()) == (True, 100)


def test_a_limit_that_was_changed_meanwhile_counts_and_no_answer_changes_nothing() -> None:
    limit = Limit(1300)
    limit.clock.command_begins(is_heard=False)
    limit.now_s, limit.end_s = 1200, 1500
    assert (limit.clock.is_due(), limit.clock.due_in_s()) == (False, 200)
    limit.now_s, limit.end_s = 1400, None
    assert limit.clock.is_due()


def test_slurms_word_counts_at_once_and_slurm_is_not_asked_then() -> None:
    limit = Limit(1300)
    limit.clock.command_begins(is_heard=False)
    limit.now_s = 1150
    limit.clock.hear()
    assert (limit.clock.is_due(), limit.asked) == (True, 1)


def test_but_not_in_the_first_moments_of_a_command() -> None:
    limit = Limit(1300)
    limit.clock.command_begins(is_heard=False)
    limit.clock.hear()
    assert (limit.clock.is_due(), limit.clock.due_in_s()) == (False, READY_S)
    limit.now_s += READY_S
    assert limit.clock.is_due()


@pytest.mark.parametrize(("end_s", "due_in_s"), [(1300, 200), (None, READY_S), (1050, READY_S)])
def test_a_word_from_before_the_command_began_waits_for_its_moment(
    end_s: float | None, due_in_s: float
) -> None:
    limit = Limit(end_s)
    limit.clock.command_begins(is_heard=True)
    assert limit.clock.due_in_s() == due_in_s


def test_of_little_time_the_first_moments_are_a_small_part() -> None:
    limit = Limit(1004, before_s=5)
    limit.clock.command_begins(is_heard=False)
    assert limit.clock.due_in_s() == 1


def test_without_a_limit_it_is_never_due() -> None:
    limit = Limit(None)
    limit.clock.command_begins(is_heard=False)
    assert (limit.clock.due_in_s(), limit.clock.is_due()) == (math.inf, False)
