"""Signals that arrive in the block take effect after it, each once, and programs started in it feel them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from scratchflow.cluster.signals import held_back


@pytest.fixture
def arrived() -> Iterator[list[int]]:
    """What the handlers that were there before have seen."""
    seen: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda it, _: seen.append(it)) for number in numbers}
    yield seen
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_waits_for_the_end_of_the_block_and_comes_once(arrived: list[int]) -> None:
    with held_back():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(number)
        assert arrived == []
    assert arrived == [signal.SIGTERM, signal.SIGINT]


def test_a_block_that_fails_lets_them_through_and_puts_the_handlers_back(
    arrived: list[int],
) -> None:
    handler = signal.getsignal(signal.SIGHUP)

    @held_back()
    def fail() -> None:
        signal.raise_signal(signal.SIGHUP)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert arrived == [signal.SIGHUP]
    assert signal.getsignal(signal.SIGHUP) is handler


def test_blocks_may_be_nested(arrived: list[int]) -> None:
    with held_back():
        with held_back():
            signal.raise_signal(signal.SIGINT)
        assert arrived == []
    assert arrived == [signal.SIGINT]


@pytest.mark.usefixtures("arrived")
def test_a_signal_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with held_back():
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        signal.raise_signal(signal.SIGHUP)


@pytest.mark.usefixtures("arrived")
def test_a_program_started_in_the_block_can_be_ended() -> None:
    with held_back():
        child = subprocess.Popen(
            [sys.executable, "-S", "-c", "print(flush=True); input()"], stdin=-1, stdout=-1
        )
    with child:
        assert child.stdout
        child.stdout.readline()
        child.terminate()
        assert child.wait(20) == -signal.SIGTERM


def test_in_another_thread_nothing_is_changed(arrived: list[int]) -> None:
    handler = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def work() -> None:
        with held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [handler]
    assert arrived == []
