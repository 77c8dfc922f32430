"""A signal ends the program between two lines, never within one, and not after the outcome."""

from __future__ import annotations

import signal
import sys
import time
import weakref
from collections.abc import Iterator

import pytest

from scratchflow.cli.signals import ENDING, SignalGate
from scratchflow.process.interrupted import Interrupted


@pytest.fixture
def gate() -> Iterator[SignalGate]:
    before = {signum: signal.getsignal(signum) for signum in (*ENDING, signal.SIGALRM)}
    hook = sys.unraisablehook
    gate = SignalGate()
    gate.install()
    yield gate
    for signum, handler in before.items():
        signal.signal(signum, handler)
    sys.unraisablehook = hook


@pytest.mark.parametrize("signum", ENDING)
@pytest.mark.usefixtures("gate")
def test_a_signal_is_raised_at_once_where_nothing_is_half_written(signum: int) -> None:
    with pytest.raises(Interrupted) as caught:
        signal.raise_signal(signum)
    assert caught.value.signum == signum
    assert not isinstance(caught.value, Exception)  # no handler for errors swallows it


class Referred:
    """Something that a weak reference can point to."""


@pytest.mark.usefixtures("gate")
def test_a_signal_that_python_throws_away_comes_again() -> None:
    """The end of each import is such a place: a callback of a weak reference."""
    kept = [Referred()]
    reference = weakref.ref(kept[0], lambda _: signal.raise_signal(signal.SIGTERM))
    kept.clear()
    with pytest.raises(Interrupted) as caught:
        time.sleep(20)
    assert reference() is None
    assert caught.value.signum == signal.SIGTERM


def test_in_the_middle_of_a_line_it_waits_for_the_end_of_it(gate: SignalGate) -> None:
    written: list[str] = []

    @gate.uninterrupted()
    def write() -> None:
        signal.raise_signal(signal.SIGTERM)
        written.append("whole")

    with pytest.raises(Interrupted) as caught:
        write()
    assert written == ["whole"]
    assert caught.value.signum == signal.SIGTERM
    with gate.uninterrupted():  # it was told once
        pass


def test_a_second_one_breaks_through_to_a_reader_who_reads_no_more(gate: SignalGate) -> None:
    written: list[str] = []

    @gate.uninterrupted()
    def write() -> None:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        written.append("never")

    with pytest.raises(Interrupted) as caught:
        write()
    assert (caught.value.signum, written) == (signal.SIGINT, [])


def test_an_error_within_the_line_is_not_hidden_by_a_signal(gate: SignalGate) -> None:
    @gate.uninterrupted()
    def write() -> None:
        signal.raise_signal(signal.SIGTERM)
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        write()


def test_after_the_outcome_nothing_changes_any_more(gate: SignalGate) -> None:
    gate.close()
    for signum in ENDING:
        signal.raise_signal(signum)
    with gate.uninterrupted():
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.usefixtures("gate")
def test_what_nohup_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    SignalGate().install()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
