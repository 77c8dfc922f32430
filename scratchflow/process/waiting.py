"""Waiting for something that is looked at again and again, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import msgspec


class Clock(msgspec.Struct, frozen=True):
    """Time as it passes, and waiting for it; a test may bring its own."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


SYSTEM_CLOCK = Clock()


def looks(within_s: float, every_s: float, clock: Clock = SYSTEM_CLOCK) -> Iterator[None]:
    """Each round of the loop is one look; the loop ends after the first look past the deadline.

    There is always one look, and a pause between two. `return` or `break` when it has been seen; what
    stands after the loop is what to do when it was not.
    """
    until = clock.monotonic() + within_s
    while True:
        is_last = clock.monotonic() >= until
        yield
        if is_last:
            return
        clock.sleep(every_s)
