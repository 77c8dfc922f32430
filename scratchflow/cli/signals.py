"""Signals as exceptions, raised only where nothing is half written."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from scratchflow.process.interrupted import Interrupted

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


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
