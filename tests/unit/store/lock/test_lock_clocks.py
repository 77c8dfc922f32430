"""Clocks that are wrong or jump: no live holder loses the lock, and no dead one keeps it for ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.model.errors.store import StoreLocked
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.lock.lock import LockTiming, StoreLock
from scratchflow.store.lock.owner import Process
from scratchflow.testing.store import FakeClock, make_lock

ELSEWHERE = Process(host="n2", boot_id="b", pid_namespace="p", pid=77, start_ticks=5)
START = 1_800_000_000.0
TIMING = LockTiming()


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


@pytest.fixture
def time() -> FakeClock:
    return FakeClock(START)


def alive_holder(place: StoreDirectory, theirs: FakeClock, ours: FakeClock) -> StoreLock:
    """Holds the lock and beats every 30 s of real time, stamping with a clock of its own."""
    holder = make_lock(place, process=ELSEWHERE, clock=theirs.clock).acquired()
    beaten_at = ours.elapsed

    def go_on() -> None:
        nonlocal beaten_at
        if ours.elapsed - beaten_at >= TIMING.heartbeat_s:
            theirs.pass_by(ours.elapsed - beaten_at)
            beaten_at = ours.elapsed
            holder.assert_held()

    ours.on_sleep = go_on
    return holder


def test_a_dead_holder_from_the_future_is_taken_over_after_five_minutes(
    place: StoreDirectory, time: FakeClock
) -> None:
    make_lock(place, process=ELSEWHERE, clock=FakeClock(START + 86400).clock).acquired()
    successor = make_lock(place, clock=time.clock).acquired(wait_s=120)
    assert TIMING.stale_after_s <= time.elapsed < TIMING.stale_after_s + 5
    successor.assert_held()
    successor.release()


@pytest.mark.parametrize("ahead_s", [-86400.0, -3600.0, -301.0, 0.0, 301.0, 86400.0])
def test_a_live_holder_keeps_the_lock_whatever_its_clock_says(
    place: StoreDirectory, time: FakeClock, ahead_s: float
) -> None:
    holder = alive_holder(place, FakeClock(START + ahead_s), time)
    with pytest.raises(StoreLocked):
        make_lock(place, clock=time.clock).acquired(wait_s=1000)
    holder.assert_held()
    holder.release()


@pytest.mark.parametrize("step_s", [-7200.0, 7200.0])
def test_a_step_of_the_waiting_hosts_clock_does_not_end_a_live_lock(
    place: StoreDirectory, time: FakeClock, step_s: float
) -> None:
    holder = alive_holder(place, FakeClock(START), time)
    time.step_wall_clock(step_s)
    with pytest.raises(StoreLocked):
        make_lock(place, clock=time.clock).acquired(wait_s=120)
    holder.assert_held()
    holder.release()


def test_a_step_of_the_holders_clock_does_not_end_its_lock(
    place: StoreDirectory, time: FakeClock
) -> None:
    theirs = FakeClock(START)
    holder = alive_holder(place, theirs, time)
    steps = iter([-4000.0, 9000.0, -100000.0])
    beat_on = time.on_sleep

    def beat_and_step() -> None:
        beat_on()
        if time.elapsed % 100 < 1:
            theirs.step_wall_clock(next(steps, 0.0))

    time.on_sleep = beat_and_step
    with pytest.raises(StoreLocked):
        make_lock(place, clock=time.clock).acquired(wait_s=500)
    holder.assert_held()
    holder.release()


def test_an_old_heartbeat_is_believed_after_two_more_missed_beats(
    place: StoreDirectory, time: FakeClock
) -> None:
    make_lock(place, process=ELSEWHERE, clock=FakeClock(START - 900).clock).acquired()
    with pytest.raises(StoreLocked):
        make_lock(place, clock=time.clock).acquired()
    make_lock(place, clock=time.clock).acquired(wait_s=120).release()
    assert TIMING.confirm_s <= time.elapsed < TIMING.confirm_s + 5


def test_the_one_who_waits_is_told_of_the_silence_and_when_it_ends(
    place: StoreDirectory, time: FakeClock
) -> None:
    make_lock(place, process=ELSEWHERE, clock=FakeClock(START + 60).clock).acquired()
    said: list[str] = []
    make_lock(place, clock=time.clock).acquired(wait_s=120, remark=said.append).release()
    assert len(said) == 1
    assert "no sign of life from `backup` on n2" in said[0]
    assert "5m" in said[0]


def test_a_holder_that_beats_again_ends_the_longer_wait(
    place: StoreDirectory, time: FakeClock
) -> None:
    holder = make_lock(place, process=ELSEWHERE, clock=FakeClock(START).clock).acquired()
    beats = iter([200.0])
    next_beat = next(beats)

    def beat_once() -> None:
        nonlocal next_beat
        if time.elapsed >= next_beat:
            next_beat = next(beats, 1e9)
            os.utime(place.lock / "owner.json")

    time.on_sleep = beat_once
    with pytest.raises(StoreLocked):
        make_lock(place, clock=time.clock).acquired(wait_s=120)
    assert 200 <= time.elapsed < 205
    holder.release()
