"""How long a holder was silent: by this process's own clock, and by stamps that may shorten the wait."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.store.lock.chain import Head
from scratchflow.store.lock.silence import HolderWatch, Silence, stamped_path
from scratchflow.testing.store import FakeClock

START = 1_800_000_000.0


@pytest.fixture
def time() -> FakeClock:
    return FakeClock(START)


def _watch(directory: Path, time: FakeClock) -> HolderWatch:
    clock = time.clock
    stamped = stamped_path(directory, "abc")
    return HolderWatch(stamped, touch=clock.touch, monotonic=clock.monotonic)


def _head(heartbeat: float, name: str = "owner.json") -> Head:
    return Head(None, heartbeat, Path(name), Path("after"))


def test_silence_is_observed_from_the_first_look_on(tmp_path: Path, time: FakeClock) -> None:
    watch = _watch(tmp_path, time)
    assert watch.silence(_head(START)) == Silence(0, 0)
    time.pass_by(30)
    assert watch.silence(_head(START)) == Silence(30, 30)


def test_a_heartbeat_that_changes_or_another_holder_starts_anew(
    tmp_path: Path, time: FakeClock
) -> None:
    watch = _watch(tmp_path, time)
    for head in (_head(START), _head(START + 1), _head(START + 1, "after-x.json")):
        assert watch.silence(head).observed_s == 0
        time.pass_by(10)
        assert watch.silence(head).observed_s == 10


def test_an_old_stamp_is_told_beside_the_observation(tmp_path: Path, time: FakeClock) -> None:
    watch = _watch(tmp_path, time)
    assert watch.silence(_head(START - 500)) == Silence(0, 500)
    time.pass_by(5)
    assert watch.silence(_head(START - 500)) == Silence(5, 505)


def test_a_heartbeat_from_the_future_counts_from_now(tmp_path: Path, time: FakeClock) -> None:
    watch = _watch(tmp_path, time)
    assert watch.silence(_head(START + 9999)) == Silence(0, 0)
    time.pass_by(5)
    assert watch.silence(_head(START + 9999)) == Silence(5, 5)


def test_a_clock_that_is_set_changes_neither(tmp_path: Path, time: FakeClock) -> None:
    watch = _watch(tmp_path, time)
    watch.silence(_head(START))
    time.step_wall_clock(86400)
    assert watch.silence(_head(START)) == Silence(0, 0)


def test_where_no_file_can_be_made_the_observation_alone_decides(
    tmp_path: Path, time: FakeClock
) -> None:
    watch = _watch(tmp_path / "missing", time)
    assert watch.silence(_head(START - 500)) == Silence(0, 0)
    time.pass_by(7)
    assert watch.silence(_head(START - 500)) == Silence(7, 7)


def test_nothing_is_left_and_nothing_of_others_is_touched(tmp_path: Path, time: FakeClock) -> None:
    _watch(tmp_path, time).silence(_head(START))
    assert os.listdir(tmp_path) == []
    others = stamped_path(tmp_path, "abc")
    others.write_text("theirs")
    assert _watch(tmp_path, time).silence(_head(START - 500)) == Silence(0, 0)
    assert others.read_text() == "theirs"
