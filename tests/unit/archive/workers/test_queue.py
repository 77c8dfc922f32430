"""Numbers that processes take turns at: each once, in order, and an end for everybody."""

from __future__ import annotations

import os
import sys

import pytest

from scratchflow.archive.workers.fork import fork_helper
from scratchflow.archive.workers.queue import MAX_SHARES, GrowingShares, Shares


@pytest.mark.parametrize("count", [0, 1, MAX_SHARES])
def test_all_numbers_come_in_order_and_then_nothing(count: int) -> None:
    shares = Shares(count)
    assert [shares.take() for _ in range(count)] == list(range(count))
    assert shares.take() is None
    assert shares.take() is None
    shares.close()
    shares.close()


def test_whoever_finds_nothing_left_is_known_to_wait() -> None:
    shares = Shares(1)
    shares.take()
    assert not shares.somebody_waits
    assert shares.take() is None
    assert shares.somebody_waits
    shares.close()


def test_more_than_a_pipe_holds_is_refused_instead_of_waiting_for_ever() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ValueError, match="more shares"):
        Shares(MAX_SHARES + 1)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(sys.platform != "linux", reason="helpers are forked on Linux only")
def test_processes_take_each_number_once_between_them() -> None:
    shares = Shares(MAX_SHARES)
    reading, writing = os.pipe()

    def work() -> None:
        while (number := shares.take()) is not None:
            os.write(writing, b"%d\n" % number)

    helpers = [fork_helper(work, [shares.descriptor, writing]) for _ in range(3)]
    os.close(writing)
    with open(reading, "rb") as pipe:
        taken = sorted(map(int, pipe.read().split()))
    for helper in helpers:
        os.waitpid(helper, 0)
    assert taken == list(range(MAX_SHARES))
    assert shares.somebody_waits  # seen here, although they are other processes
    assert shares.take() is None
    shares.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only there")
def test_a_number_can_be_taken_once_it_was_given() -> None:
    before = len(os.listdir("/proc/self/fd"))
    shares = GrowingShares(3)
    assert shares.take_now() is None
    shares.give()
    shares.give()
    assert shares.waiting == 2
    assert (shares.take_now(), shares.take(), shares.take_now()) == (0, 1, None)
    shares.give()
    shares.end()
    shares.end()
    assert shares.take() == 2
    assert shares.take() is None
    shares.close()
    shares.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(sys.platform != "linux", reason="helpers are forked on Linux only")
def test_processes_wait_for_numbers_until_there_will_be_no_more() -> None:
    shares = GrowingShares(500)
    reading, writing = os.pipe()

    def work() -> None:
        while (number := shares.take()) is not None:
            os.write(writing, b"%d\n" % number)

    helpers = [fork_helper(work, [shares.descriptor, writing]) for _ in range(3)]
    os.close(writing)
    own = []
    for _ in range(500):
        shares.give()
        while shares.waiting > 4 and (number := shares.take_now()) is not None:
            own.append(number)
    shares.end()
    with open(reading, "rb") as pipe:
        taken = list(map(int, pipe.read().split()))
    for helper in helpers:
        os.waitpid(helper, 0)
    assert sorted(own + taken) == list(range(500))
    shares.close()
