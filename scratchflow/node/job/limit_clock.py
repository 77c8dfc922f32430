"""When the time limit of a job is near, by the node's own clock.

Slurm says so once, up to a minute early: with a short limit before the job listens, and then never again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

READY_S = 5.0
"""How long a command that has just begun is left alone: before it has a handler, the signal would end it."""
_SHARE = 0.2
"""That is at most this much of the time between signal and time limit."""


class LimitClock:
    """Says when `before_s` are left. `ask` says when the limit is, in seconds since 1970; None when nobody knows."""

    def __init__(
        self,
        before_s: float,
        ask: Callable[[], float | None],
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self.before_s = before_s
        self._ask, self._now_s = ask, now_s
        self._end_s: float | None = None
        self._not_before_s = 0.0
        self._is_heard = False

    def command_begins(self, *, is_heard: bool) -> None:
        """`is_heard`: Slurm has said so already. Where the limit is known, that was early, and counts for nothing."""
        self._not_before_s = self._now_s() + min(READY_S, self.before_s * _SHARE)
        self._end_s = self._ask()
        self._is_heard = is_heard and self._end_s is None

    def hear(self) -> None:
        """Slurm says while the command runs that the limit is near."""
        self._is_heard = True

    def left_s(self) -> float:
        """Until the time limit."""
        return math.inf if self._end_s is None else self._end_s - self._now_s()

    def due_in_s(self) -> float:
        """How long until the command gets its signal, as far as is known by now."""
        return max(0.0, self._due_s() - self._now_s())

    def is_due(self) -> bool:
        """Whether it is to get it now. Slurm is asked once more: the limit may be another one by now."""
        if self._now_s() < self._due_s():
            return False
        if not self._is_heard:
            asked = self._ask()
            self._end_s = self._end_s if asked is None else asked
        return self._now_s() >= self._due_s()

    def _due_s(self) -> float:
        if self._is_heard:
            return self._not_before_s
        if self._end_s is None:
            return math.inf
        return max(self._end_s - self.before_s, self._not_before_s)
