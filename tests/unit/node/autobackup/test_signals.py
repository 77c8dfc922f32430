"""Signals that end the loop set a word and end nothing by themselves; and which process is an agent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from scratchflow.node.autobackup.signals import LoopSignals, is_agent

_WAITS = "input()"


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGTERM, "the job was told to end"),
        (signal.SIGINT, "interrupted"),
        (signal.SIGUSR1, "switched off"),
    ],
)
def test_each_signal_stops_the_loop_with_its_reason(number: int, reason: str) -> None:
    signals = LoopSignals()
    with signals.caught():
        assert not signals.stop.is_set()
        os.kill(os.getpid(), number)
        assert signals.stop.is_set()
        assert signals.reason == reason


def test_the_first_reason_stays() -> None:
    signals = LoopSignals()
    with signals.caught():
        os.kill(os.getpid(), signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGTERM)
    assert signals.reason == "switched off"


def test_a_closed_terminal_ends_nothing() -> None:
    signals = LoopSignals()
    with signals.caught():
        os.kill(os.getpid(), signal.SIGHUP)
        assert not signals.stop.is_set()


def test_everything_is_as_before_afterwards_also_after_an_error() -> None:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    with pytest.raises(KeyError), LoopSignals().caught():
        raise KeyError
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.parametrize(("words", "expected"), [(["agent"], True), (["agents", "x=agent"], False)])
def test_an_agent_is_told_by_its_words(words: list[str], *, expected: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", f"print(flush=True); {_WAITS}", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout
        process.stdout.readline()
        assert is_agent(process.pid) is expected
        process.communicate(b"\n")
    assert not is_agent(process.pid)


@pytest.mark.parametrize("pid", [-1, 0, 1, 1 << 30])
def test_numbers_that_are_nobody_or_everybody_are_no_agent(pid: int) -> None:
    assert not is_agent(pid)
