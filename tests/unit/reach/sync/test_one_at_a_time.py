"""One sync at a time works with a home, also where a lock holds on one host only."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.process.waiting import Clock
from scratchflow.reach.sync.one_at_a_time import alone_in


class Time:
    """Passes when somebody waits; `meanwhile` happens then."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.waits = 0
        self.meanwhile: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.waits += 1
        self.meanwhile()

    @property
    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.now_s, sleep=self.sleep)


@pytest.fixture
def time() -> Time:
    return Time()


def test_the_first_has_the_home_and_leaves_no_note(tmp_path: Path, time: Time) -> None:
    waited: list[str] = []
    with alone_in(tmp_path / "sync", lambda: waited.append("x"), clock=time.clock) as is_alone:
        assert is_alone
    assert waited == []
    assert not (tmp_path / "sync/running").exists()


def test_a_second_one_waits_and_gives_up(tmp_path: Path, time: Time) -> None:
    waited: list[str] = []
    with alone_in(tmp_path, lambda: None) as is_first_alone:
        assert is_first_alone
        with alone_in(tmp_path, lambda: waited.append("x"), clock=time.clock) as is_alone:
            assert not is_alone
    assert waited == ["x"]
    assert time.now_s >= 90


def test_it_goes_on_when_the_other_one_ends(tmp_path: Path, time: Time) -> None:
    held = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    time.meanwhile = lambda: fcntl.flock(held, fcntl.LOCK_UN)
    with alone_in(tmp_path, lambda: None, clock=time.clock) as is_alone:
        assert is_alone
    assert time.waits == 1
    os.close(held)


def test_one_on_another_host_is_known_by_its_note(tmp_path: Path, time: Time) -> None:
    note = tmp_path / "running"
    note.write_text("login1 7 0\n")
    time.meanwhile = lambda: note.write_text(f"login1 7 {time.waits}\n")
    with alone_in(tmp_path, lambda: None, host="login2", clock=time.clock) as is_alone:
        assert not is_alone
    assert note.exists()


@pytest.mark.parametrize("host", ["login1", "login2"])
def test_what_a_killed_one_left_is_passed_over(tmp_path: Path, time: Time, host: str) -> None:
    (tmp_path / "running").write_text("login1 7 0\n")
    with alone_in(tmp_path, lambda: None, host=host, clock=time.clock) as is_alone:
        assert is_alone
    assert (time.now_s > 0) is (host == "login2")
