"""A loop of looks has at least one look, pauses between two, and ends after its deadline."""

from __future__ import annotations

import pytest

from scratchflow.process.waiting import Clock, looks


class Time:
    """Time that passes only when somebody sleeps, or when a look takes long."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now_s, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


@pytest.mark.parametrize(("within_s", "expected"), [(-1, 1), (0, 1), (0.5, 2), (1, 2), (2.5, 4)])
def test_the_last_look_is_the_first_at_or_after_the_deadline(
    within_s: float, expected: int
) -> None:
    time = Time()
    assert len(list(looks(within_s, 1, time.clock))) == expected
    assert time.slept == [1] * (expected - 1)


def test_a_slow_look_is_followed_by_one_that_knows_it_is_the_last() -> None:
    time, seen = Time(), 0
    for _ in looks(5, 1, time.clock):
        seen += 1
        time.now_s += 60
    assert seen == 2


def test_what_was_seen_is_not_waited_for() -> None:
    time = Time()
    for _ in looks(60, 1, time.clock):
        break
    assert time.slept == []
