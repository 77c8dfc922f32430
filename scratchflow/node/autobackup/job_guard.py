"""Ends an auto-backup that is not a job step when its job ends, as Slurm does with job steps.

Some sites adopt ssh sessions into the job; there Slurm itself ends the process, and sooner.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scratchflow.model.allocation import OPEN, Allocation
from scratchflow.model.errors.slurm import SlurmUnreachable

ASK_EVERY_S = 10.0
KILL_WAIT_S = 30.0
"""How long a last backup may take: what Slurm gives a step by default."""
_FAREWELL_S = 1.0


def send_to_us(signum: signal.Signals) -> None:
    """Sends a signal to this process; a signal that cannot be caught also goes to its helpers."""
    if signum == signal.SIGKILL:
        os.killpg(os.getpgrp(), signum)
    os.kill(os.getpid(), signum)


class JobGuard:
    """Sends SIGTERM when the job is over, and SIGKILL when that did not end it in time.

    `ask` says how the job is, or raises SlurmUnreachable; then its time limit decides. When `is_taken`, another
    job of ours has the node already, and what lies there is not this one's to save any more.
    """

    def __init__(
        self,
        ask: Callable[[], Allocation],
        is_taken: Callable[[], bool],
        end_s: float | None,
        *,
        send: Callable[[signal.Signals], None] = send_to_us,
        ask_every_s: float = ASK_EVERY_S,
        kill_wait_s: float = KILL_WAIT_S,
    ) -> None:
        self._ask = ask
        self._is_taken = is_taken
        self.end_s = end_s
        self._send = send
        self._ask_every_s = ask_every_s
        self._kill_wait_s = kill_wait_s
        self._done = threading.Event()

    def is_over(self) -> bool | None:
        """Whether the job has ended; None when its end is not known."""
        try:
            found = self._ask()
        except SlurmUnreachable:
            return None if self.end_s is None else time.time() > self.end_s
        self.end_s = self.end_s if found.end_time is None else found.end_time
        return found.state not in OPEN

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watches the job in a thread while the block runs."""
        thread = threading.Thread(target=self._watch, name="job-guard", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join(_FAREWELL_S)  # it may be waiting for Slurm

    def _watch(self) -> None:
        while not self._done.wait(self._ask_every_s):
            if self.is_over() and not self._done.is_set():
                self._end()
                return

    def _end(self) -> None:
        is_taken = self._is_known_taken()
        if self._done.is_set():
            return
        if not is_taken:
            self._send(signal.SIGTERM)
            if self._done.wait(self._kill_wait_s):
                return
        self._send(signal.SIGKILL)

    def _is_known_taken(self) -> bool:
        try:
            return self._is_taken()
        except SlurmUnreachable:
            return False
