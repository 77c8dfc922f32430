"""The answer that watches share: one writes, nothing old is read, and a writer that stands still is replaced."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.flows.watch import shared_answer as module
from scratchflow.flows.watch.shared_answer import (
    FRESH_S,
    SharedAnswer,
    answer_directory,
    awake_or_asleep_s,
)
from tests.unit.flows.told import job, seen


class Machine:
    """One machine with its clock; each `watch` is as one process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.now_s = 1000.0

    def watch(self, asked: object = "p") -> SharedAnswer:
        return SharedAnswer(self.directory, asked, now_s=lambda: self.now_s)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_one_asks_and_the_others_read_what_it_was_answered(machine: Machine) -> None:
    one, other = machine.watch(), machine.watch()
    assert (one.take(), other.take(), one.take()) == (True, False, True)
    assert other.fresh() is None
    assert one.offer(seen(job(7)))
    machine.now_s += 30
    answer = other.fresh()
    assert answer is not None
    assert answer.status == seen(job(7))
    assert (other.age_s(answer), answer.pid) == (30, os.getpid())


def test_only_the_user_can_read_it(machine: Machine) -> None:
    before = os.umask(0)
    try:
        machine.watch().offer(seen())
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(file.stat().st_mode) for file in machine.directory.iterdir()}
    assert modes == {0o600}


def test_other_settings_share_nothing(machine: Machine) -> None:
    one, other = machine.watch(["p", "/a/config.toml"]), machine.watch(["p", "/b/config.toml"])
    assert (one.take(), other.take()) == (True, True)
    one.offer(seen(job(1)))
    assert other.fresh() is None


def test_an_answer_from_before_a_sleep_is_not_shown(machine: Machine) -> None:
    one, other = machine.watch(), machine.watch()
    one.offer(seen())
    machine.now_s += FRESH_S + 1
    assert other.fresh() is None


def test_the_clock_goes_on_while_the_machine_sleeps() -> None:
    uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    assert awake_or_asleep_s() == pytest.approx(uptime_s, abs=60)


def test_an_answer_from_before_a_boot_is_not_shown(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = machine.watch()
    one.offer(seen())
    monkeypatch.setattr(module, "_boot_id", lambda: "another")
    assert machine.watch().fresh() is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"{}"])
def test_what_is_no_answer_is_not_shown(machine: Machine, content: bytes) -> None:
    one, other = machine.watch(), machine.watch()
    one.offer(seen())
    next(machine.directory.glob("*.json")).write_bytes(content)
    assert other.fresh() is None


def test_what_one_left_that_was_killed_is_removed_by_the_next(machine: Machine) -> None:
    killed, other = machine.watch(), machine.watch()
    killed.offer(seen())
    killed._close()  # as the kernel does
    assert other.take()
    assert other.fresh() is None


def test_one_that_ends_leaves_nothing_and_the_next_asks(machine: Machine) -> None:
    one, other = machine.watch(), machine.watch()
    one.offer(seen())
    one.give_back()
    assert list(machine.directory.iterdir()) == []
    assert other.take()


def test_one_that_stands_still_is_replaced_by_one_that_was_answered_and_reads_from_then_on(
    machine: Machine,
) -> None:
    still, other, third = machine.watch(), machine.watch(), machine.watch()
    still.offer(seen(job(1)))
    machine.now_s += FRESH_S + 1
    assert other.offer(seen(job(2)))
    assert not third.offer(seen(job(3)))
    assert not still.offer(seen(job(1)))
    answer = still.fresh()
    assert answer is not None
    assert answer.status == seen(job(2))
    still.give_back()
    assert not third.take()
    other.give_back()
    assert third.take()


def test_a_living_one_is_not_replaced(machine: Machine) -> None:
    one, other = machine.watch(), machine.watch()
    one.offer(seen(job(1)))
    machine.now_s += FRESH_S - 1
    assert not other.offer(seen(job(2)))
    assert one.offer(seen(job(1)))


def test_after_its_files_were_removed_it_goes_on(machine: Machine) -> None:
    one = machine.watch()
    one.offer(seen())
    for file in machine.directory.iterdir():
        file.unlink()
    assert one.offer(seen())
    assert not machine.watch().take()


@pytest.mark.parametrize("use", [SharedAnswer.take, lambda shared: shared.offer(seen())])
def test_a_disk_that_cannot_be_written_is_an_error(
    machine: Machine, use: Callable[[SharedAnswer], object]
) -> None:
    machine.directory.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            use(machine.watch())
    finally:
        machine.directory.chmod(0o700)


def test_the_directory_is_private_or_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = answer_directory()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    directory.chmod(0o755)
    with pytest.raises(PermissionError):
        answer_directory()
