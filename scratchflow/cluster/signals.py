"""Signals held back for a moment in which an interruption would leave something behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def outlive_our_job() -> None:
    """From here on the end of the job that we run in does not end us; Slurm kills us KillWait later.

    For a command that ends its own job, and has still to say what became of everything.
    """
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def held_back() -> Iterator[None]:
    """The ending signals arrive after the block instead of within it.

    By handlers, not by a mask: a mask would be inherited by every program started meanwhile. Only
    the main thread receives signals; elsewhere there is nothing to hold back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(signum: int, _frame: FrameType | None) -> None:
        arrived.append(signum)

    before = {number: signal.getsignal(number) for number in _ENDING}
    # None: a handler that was not set from Python, and cannot be put back from here.
    ours = [number for number, handler in before.items() if callable(handler)]
    for number in ours:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
        for signum in dict.fromkeys(arrived):
            signal.raise_signal(signum)
