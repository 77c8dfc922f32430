"""Forks helper processes, which share this process's memory and end with their work."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress

# Sent to everybody at once when a job or a terminal ends: the one who asked decides what that means.
_NOT_FOR_HELPERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BLOCKED = (*_NOT_FOR_HELPERS, signal.SIGPIPE)


def fork_helper(work: Callable[[], None], kept: Iterable[int]) -> int:
    """Starts a process that does `work` with the `kept` descriptors alone; returns its number.

    It ends with 0 when `work` returns, and with something else whatever happens otherwise; it has
    to notice by itself when the one who asked is gone.
    """
    process = 0
    # Nothing may be raised in the child before it has its own ways to end.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    try:
        with warnings.catch_warnings():
            # Python warns of forks beside threads. The child takes no lock that one of them
            # may hold: it reads files, writes to a pipe or to shared memory, and ends.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if not process:
            _live(work, kept, mask)
    finally:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        except BaseException:  # a signal that waited: nobody will know of the helper
            if process:
                end_helper(process)
            raise
    return process


def _live(work: Callable[[], None], kept: Iterable[int], mask: Iterable[int]) -> None:
    """Runs a helper from start to exit."""
    code = 1
    try:
        for signum in _NOT_FOR_HELPERS:
            signal.signal(signum, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _close_all_but(set(kept))
        work()
        code = 0
    finally:
        os._exit(code)


def end_helper(process: int) -> None:
    """Ends a helper that may still be at work, and waits until it is gone."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    with suppress(ChildProcessError):  # whoever started us may have said that nobody waits
        os.waitpid(process, 0)


def _close_all_but(kept: set[int]) -> None:
    """Closes inherited descriptors: a lock or pipe of the parent must not stay open in a helper."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with suppress(OSError):  # the listing's own
                os.close(int(name))
