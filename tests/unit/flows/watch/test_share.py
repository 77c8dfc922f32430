"""Whether a watch reads or asks: never old answers, and never two that ask for long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.flows.watch.share import PATIENCE_S, Show, watch_shared
from scratchflow.flows.watch.shared_answer import FRESH_S, SharedAnswer
from scratchflow.model.results.status import StatusShown
from scratchflow.process.waiting import Clock
from tests.unit.flows.told import job, seen


class Over(Exception):
    """The one who watches leaves."""


class World:
    """Another watch that asks, and ours. Time passes only while ours waits."""

    def __init__(self, directory: Path) -> None:
        self.now_s = 1000.0
        self.shown: list[StatusShown] = []
        self.asked_at_s: list[float] = []
        self.answers = [seen(job(9))]
        self.at: dict[int, Callable[[], object]] = {}
        self.other = SharedAnswer(directory, "p", now_s=lambda: self.now_s)
        self.ours = SharedAnswer(directory, "p", now_s=lambda: self.now_s)

    def watch(self, shared: SharedAnswer | None = None) -> None:
        clock = Clock(monotonic=lambda: self.now_s, sleep=self._sleep)
        with pytest.raises(Over):
            watch_shared(shared or self.ours, self._ask, self.shown.append, lambda _: None, clock)

    def job_ids(self) -> list[int | None]:
        return [one.allocation.job_id if one.allocation else None for one in self.shown]

    def _ask(self, pass_on: Show) -> StatusShown:
        self.asked_at_s.append(self.now_s - 1000)
        for answer in self.answers:
            pass_on(answer)
        raise Over

    def _sleep(self, seconds: float) -> None:
        self.now_s += seconds
        happens = self.at.pop(round(self.now_s - 1000), None)
        if happens:
            happens()

    def leave(self) -> None:
        raise Over


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_first_asks_at_once(world: World) -> None:
    world.watch()
    assert world.asked_at_s == [0]
    assert world.job_ids() == [9]


def test_another_ones_answers_are_shown_once_each_as_old_as_they_are(world: World) -> None:
    world.other.offer(seen(job(1, seconds_left=3000)))
    world.now_s += 40
    world.at = {60: lambda: world.other.offer(seen(job(2))), 100: world.leave}
    world.watch()
    assert world.asked_at_s == []
    assert world.job_ids() == [1, 2]
    held = world.shown[0].allocation
    assert held is not None
    assert held.seconds_left == 2960


def test_when_the_other_is_gone_ours_asks_within_a_second(world: World) -> None:
    world.other.offer(seen(job(1)))
    world.at = {7: world.other._close}  # killed: the kernel frees the lock, the file stays
    world.watch()
    assert world.asked_at_s == [7]
    assert world.job_ids() == [1, 9]


def test_while_the_other_logs_in_ours_waits_and_then_asks(world: World) -> None:
    world.other.take()
    world.watch()
    assert world.asked_at_s == [PATIENCE_S]
    assert world.job_ids() == [9]


def test_when_the_other_stands_still_ours_asks_and_is_the_one_from_then_on(world: World) -> None:
    world.other.offer(seen(job(1)))
    world.watch()
    assert world.asked_at_s == [pytest.approx(FRESH_S + PATIENCE_S, abs=2)]
    assert world.job_ids() == [1, 9]
    assert not world.other._is_ours()


def test_one_that_was_replaced_reads_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(pass_on: Show) -> StatusShown:
        pass_on(seen(job(1)))
        world.now_s += FRESH_S + 1  # stopped for so long
        world.other.offer(seen(job(2)))
        world.at = {round(world.now_s - 1000) + 5: world.leave}
        pass_on(seen(job(1)))
        raise AssertionError("it goes on asking")

    monkeypatch.setattr(world, "_ask", ask)
    world.watch()
    assert world.job_ids() == [1, 2]


def test_where_nothing_can_be_shared_it_asks(world: World, tmp_path: Path) -> None:
    world.watch(SharedAnswer(tmp_path / "missing", "p"))
    assert world.job_ids() == [9]


def test_when_the_disk_becomes_full_it_goes_on_alone_and_leaves_no_old_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[StatusShown] = []
    offer = world.ours.offer

    def full(status: StatusShown) -> bool:
        calls.append(status)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return offer(status)

    monkeypatch.setattr(world.ours, "offer", full)
    world.answers = [seen(job(1)), seen(job(2))]
    world.watch()
    assert world.job_ids() == [1, 1, 2]
    assert len(calls) == 2
    assert world.other.take()
    assert world.other.fresh() is None
