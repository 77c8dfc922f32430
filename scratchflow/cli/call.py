"""A parsed command line: which flow to run, and how to say its result to a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.events import Emit, Event, Progress
from scratchflow.model.results.base import Result
from scratchflow.process.interrupted import Interrupted

R = TypeVar("R", bound=Result)

# Whatever answers sooner needs no sign of life.
SILENT_S = 0.5
ASKING = "asking the cluster"


class Call(msgspec.Struct, Generic[R], frozen=True):
    """What a verb's function returns. Parsing is over when it exists; nothing has run yet."""

    op: str
    flow: Callable[[Emit], R]
    show: Callable[[R], Iterable[str]]
    # It has no other end: for a person, Ctrl-C is the way out and no error.
    until_interrupted: bool = False


def announced(phase: str, call: Call[R]) -> Call[R]:
    """The same, which first says what it does: until a node has answered, a second or more goes by."""

    def run(emit: Emit) -> R:
        emit(Progress(phase=phase))
        return call.flow(emit)

    return msgspec.structs.replace(call, flow=run)


def announced_late(phase: str, call: Call[R], *, is_watched: bool) -> Call[R]:
    """The same, which says what it does when it has shown no progress for half a second.

    For what often answers at once. Not for programs: their events do not depend on how long something took.
    """
    if not is_watched:
        return call

    def run(emit: Emit) -> R:
        import threading  # not every command needs it

        one_at_a_time = threading.RLock()
        is_shown = False

        def tell(event: Event) -> None:
            nonlocal is_shown
            with one_at_a_time:
                if isinstance(event, Progress):
                    is_shown = True
                    late.cancel()
                emit(event)

        def tell_late() -> None:
            with one_at_a_time:
                if not is_shown:
                    emit(Progress(phase=phase))

        late = threading.Timer(SILENT_S, tell_late)
        late.daemon = True
        late.start()
        try:
            return call.flow(tell)
        finally:
            with one_at_a_time:
                is_shown = True
                late.cancel()

    return msgspec.structs.replace(call, flow=run)


def telling_what_an_end_means(call: Call[R], words: str) -> Call[R]:
    """The same, with a word about what is there when a signal ends it, or the connection in the middle."""

    def run(emit: Emit) -> R:
        has_begun = False

        def passed_on(event: Event) -> None:
            nonlocal has_begun
            has_begun = has_begun or (isinstance(event, Progress) and event.files_done > 0)
            emit(event)

        try:
            return call.flow(passed_on)
        except Interrupted as interrupted:
            raise EndedBySignal(interrupted.signum, words) from interrupted
        except ScratchflowError as error:
            from scratchflow.model.errors.ssh import ConnectionLost

            if has_begun and isinstance(error, ConnectionLost):
                error.add_step(f"it may have gone on there meanwhile. {words}")
            raise

    return msgspec.structs.replace(call, flow=run)
