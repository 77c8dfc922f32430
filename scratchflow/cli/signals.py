"""Signals as exceptions, raised only where nothing is half written."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from scratchflow.process.interrupted import Interrupted

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

# How soon a signal comes again that was raised where Python throws exceptions away.
_AGAIN_S = 0.01


class SignalGate:
    """Turns the ending signals into `Interrupted`, but not in the middle of writing a line."""

    def __init__(self) -> None:
        self._held = False
        self._closed = False
        self._waiting: int | None = None

    def install(self) -> None:
        """From here on the ending signals raise; one that was ignored at the start stays ignored.

        `nohup` relies on that for SIGHUP, and a shell's background jobs for SIGINT.
        """
        for signum in ENDING:
            if signal.getsignal(signum) is not signal.SIG_IGN:
                signal.signal(signum, self._arrived)
        sys.unraisablehook = self._thrown_away

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Holds a first signal back until the block is done; a second one breaks through,

        because the reader of our pipe may never read again.
        """
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._waiting is not None and not self._closed:
            signum, self._waiting = self._waiting, None
            raise Interrupted(signum)

    def close(self) -> None:
        """The outcome is decided: a signal that comes now changes nothing any more."""
        self._closed = True

    def _arrived(self, signum: int, frame: FrameType | None) -> None:
        if self._closed:
            return
        if self._held and self._waiting is None:
            self._waiting = signum
            return
        raise Interrupted(signum)

    def _thrown_away(self, unraisable: UnraisableHookArgs) -> None:
        """Lets a signal come again whose exception Python threw away.

        It does so in a `__del__` and in the callbacks of weak references, and each import ends in
        one of those: once in some hundred times a Ctrl-C during the start would go unheard.
        """
        thrown_away = unraisable.exc_value
        if not isinstance(thrown_away, Interrupted):
            sys.__unraisablehook__(unraisable)
            return
        signum = thrown_away.signum
        signal.signal(signal.SIGALRM, lambda _, frame: self._arrived(signum, frame))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
