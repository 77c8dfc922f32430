"""Watches by reading what another watch of this user is answered, or asks the cluster when there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from scratchflow.flows.watch.shared_answer import SharedAnswer
from scratchflow.model.events import Emit, Log
from scratchflow.model.results.status import StatusShown
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock

PATIENCE_S = 20.0
"""How long another watch may take to log in. Longer when somebody has to type a second factor, or an agent is brought there."""
_EVERY_S = 1.0

Show = Callable[[StatusShown], None]
# Asks the cluster and hands on each answer, until interrupted.
Ask = Callable[[Show], StatusShown]


class _OtherAsks(Exception):
    """Another watch has answers that are as fresh as ours."""


class _Unshared(Exception):
    """The files cannot be used: from here on this watch asks for itself."""


def watch_shared(
    shared: SharedAnswer | None, ask: Ask, show: Show, emit: Emit, clock: Clock = SYSTEM_CLOCK
) -> StatusShown:
    """Shows every answer once, until interrupted: those of another watch while it lives, else our own."""
    if shared is None:
        return ask(show)
    try:
        while True:
            _follow(shared, show, emit, clock)
            try:
                return ask(partial(_share, shared, show))
            except _OtherAsks:
                continue
    except _Unshared as unshared:
        emit(Log(level="debug", message=f"cannot share what is watched: {unshared.__cause__}"))
    finally:
        shared.give_back()
    return ask(show)


def _share(shared: SharedAnswer, show: Show, status: StatusShown) -> None:
    # To the others first: whoever reads from us may be slow.
    with _unshared():
        is_ours = shared.offer(status)
    if not is_ours:
        raise _OtherAsks
    show(status)


@contextmanager
def _unshared() -> Iterator[None]:
    """Tells an error of our files from those of what is around them."""
    try:
        yield
    except OSError as error:
        raise _Unshared from error


def _follow(shared: SharedAnswer, show: Show, emit: Emit, clock: Clock) -> None:
    """Shows another one's answers. Returns when that one is gone, or has had no fresh answer for too long."""
    shown_s, asking = float("-inf"), 0
    until = clock.monotonic() + PATIENCE_S
    while True:
        with _unshared():
            if shared.take():
                return
            answer = shared.fresh()
        if answer is None and clock.monotonic() >= until:
            return
        if answer is not None:
            until = clock.monotonic() + PATIENCE_S
            if answer.pid != asking:
                emit(Log(level="debug", message=f"process {answer.pid} asks the cluster for us"))
            if answer.at_s > shown_s:
                show(answer.status.after(shared.age_s(answer)))
            shown_s, asking = max(shown_s, answer.at_s), answer.pid
        clock.sleep(_EVERY_S)
