"""Many processes and one lock, some of them killed while they hold it or come for it."""

from __future__ import annotations

import errno
import os
import random
import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.store import StoreLocked
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.lock.lock import LockTiming
from scratchflow.store.lock.owner import Process, this_process
from scratchflow.testing.dying import run_and_die
from scratchflow.testing.store import FakeClock, make_lock

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

PROCESSES, ACQUISITIONS, ROUNDS = 8, 50, 25
TIMING = LockTiming(poll_s=0.002)
# The holder's heartbeat is decades old by its stamp: that is believed at once here.
IMPATIENT = LockTiming(confirm_s=0)


def hold_alone(place: StoreDirectory) -> None:
    """Holds the lock for a moment; a second holder meanwhile is an error."""
    with make_lock(place, timing=TIMING).acquired(wait_s=300):
        inside = place.directory / "inside"
        os.close(os.open(inside, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.unlink(inside)


def hold_and_die(place: StoreDirectory, dice: random.Random) -> None:
    """Dies somewhere on the way into the lock, but not between the two lines about `inside`."""

    def come_and_go() -> None:
        with make_lock(place, timing=TIMING).acquired(wait_s=300):
            pass

    run_and_die(come_and_go, dice.randint(1, 30), dice.choice(["before", "torn", "after"]))


def in_children(count: int, action: Callable[[int], int]) -> list[int]:
    """Runs the action in forked children at once and returns their exit codes."""
    gate_reader, gate_writer = os.pipe()
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            os.close(gate_writer)
            os.read(gate_reader, 1)  # opens for all at once
            exit_with(action, number)
        children.append(child)
    os.close(gate_writer)
    os.close(gate_reader)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def exit_with(action: Callable[[int], int], number: int) -> None:
    code = 99
    try:
        code = action(number)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


def test_never_two_holders_though_holders_are_killed(tmp_path: Path) -> None:
    place = open_place(tmp_path / "store", "work")

    def work(number: int) -> int:
        dice = random.Random(number)  # noqa: S311 - repeatable on purpose
        for _ in range(ACQUISITIONS):
            if dice.random() < 0.2:
                hold_and_die(place, dice)
            else:
                hold_alone(place)
        return 0

    assert in_children(PROCESSES, work) == [0] * PROCESSES


@pytest.mark.parametrize("has_links", [True, False])
@pytest.mark.parametrize("state", ["silent", "empty", "absent"])
def test_of_many_who_take_over_at_once_exactly_one_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, has_links: bool
) -> None:
    if not has_links:
        monkeypatch.setattr(os, "link", no_link)
    for turn in range(ROUNDS):
        place = open_place(tmp_path / f"store{turn}", "work")
        if state == "silent":
            assert in_children(1, lambda _, place=place: fall_silent(place)) == [0]  # type: ignore[misc]
        elif state == "empty":
            place.lock.mkdir()

        def take(number: int, place: StoreDirectory = place) -> int:
            lock = make_lock(place, process=of_another_host(number), timing=IMPATIENT)
            try:
                lock.acquired()
                lock.assert_held()
            except StoreLocked:
                return 0
            return 1

        assert sorted(in_children(PROCESSES, take)) == [0] * (PROCESSES - 1) + [1]


def fall_silent(place: StoreDirectory) -> int:
    """Leaves a lock of long ago, of a host that nobody can ask."""
    past = FakeClock(1_000_000_000)
    make_lock(place, process=of_another_host(99), clock=past.clock).acquired()
    return 0


def no_link(*_: object, **__: object) -> None:
    raise PermissionError(errno.EPERM, "no hard links here")


def of_another_host(number: int) -> Process:
    return msgspec.structs.replace(this_process(), host=f"n{number}")
