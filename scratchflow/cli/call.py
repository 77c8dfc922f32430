"""A parsed command line: which flow to run, and how to say its result to a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from scratchflow.model.events import Emit, Progress
from scratchflow.model.results.base import Result

R = TypeVar("R", bound=Result)


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
