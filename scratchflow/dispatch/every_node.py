"""One operation on every node of an allocation at once; what fails on one of them stops no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from scratchflow.model.errors.allocation import OtherNodeFailed
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.events import Emit, Event, Log, Warned
from scratchflow.model.requests import Arguments, Restore, Settle
from scratchflow.model.results.base import NodeFailure, OnNodes, Result
from scratchflow.model.results.restore import Restored, Settled
from scratchflow.model.results.run import RunPlace
from scratchflow.process.parallel import EachInThread

# Does the operation on this node, with these arguments.
Ask = Callable[[str, Arguments, Emit], Result]
R = TypeVar("R", bound=Result)


def on_every_node(
    nodes: Sequence[str], arguments: Arguments, ask: Ask, emit: Emit, *, first_alone: bool
) -> Result:
    """The first node's result, with the names of the others that have done it too, and of those that failed.

    With `first_alone` the others wait for the first: what is the newest snapshot may depend on it.
    An error of the first node is raised, after the others are through.
    """
    first, *others = nodes
    in_turn = _one_at_a_time(emit)
    if first_alone:
        done = ask(first, arguments, in_turn)
        rest = _asked(others, _beside(arguments, done), ask, in_turn)
    else:
        rest = _asked(others, _beside(arguments, None), ask, in_turn)
        try:
            done = ask(first, arguments, in_turn)
        except ScratchflowError:
            _wait_for(rest, in_turn)
            raise
    _wait_for(rest, in_turn)
    forks = _forks(rest.done)
    for node, fork in forks.items():
        in_turn(fork_warning(node, fork))
    return _joined(done, first, rest, forks)


def _beside(arguments: Arguments, done: Result | None) -> Arguments:
    """What the others are asked: the same snapshot, and nothing of theirs becomes the newest."""
    if isinstance(arguments, Settle):
        return msgspec.structs.replace(arguments, beside=True)
    if isinstance(arguments, Restore):
        pinned = arguments.snapshot
        if isinstance(done, Restored):
            pinned = done.committed_as or done.snapshot
        return msgspec.structs.replace(arguments, beside=True, snapshot=pinned)
    return arguments


def fork_warning(node: str, fork: str) -> Warned:
    """Says where the changes are that only a further node had."""
    message = (
        f"`{node}` held changes of its own: they are saved as a fork, snapshot {fork};"
        f" `scratchflow snapshots diff {fork} latest` compares them"
    )
    return Warned(code="nodes.fork", message=message)


def _forks(done: Mapping[str, Result]) -> dict[str, str]:
    """What each of them saved before it was replaced."""
    forks = {}
    for node, one in done.items():
        restored = one.restored if isinstance(one, Settled) else one
        if isinstance(restored, Restored) and restored.safety_snapshot:
            forks[node] = restored.safety_snapshot
    return forks


def _joined(done: Result, first: str, rest: EachInThread[Result], forks: dict[str, str]) -> Result:
    if isinstance(done, RunPlace):
        places = {node: one for node, one in rest.done.items() if isinstance(one, RunPlace)}
        return msgspec.structs.replace(done, others=places, failed=_failures(rest))
    if isinstance(done, OnNodes):
        nodes = [first, *rest.done]
        return msgspec.structs.replace(done, nodes=nodes, failed=_failures(rest), forks=forks)
    return done


def _asked(
    nodes: Sequence[str], arguments: Arguments, ask: Ask, emit: Emit
) -> EachInThread[Result]:
    """The other nodes, which are asked from now on."""
    return EachInThread(nodes, lambda node: ask(node, arguments, _speaks_for(node, emit)))


def _wait_for(rest: EachInThread[Result], emit: Emit) -> None:
    """Waits for the others, and tells what failed."""
    rest.wait()
    for node, error in rest.failed.items():
        emit(Warned(code=OtherNodeFailed.code, message=f"`{node}`: {error}"))


def _failures(rest: EachInThread[Result]) -> list[NodeFailure]:
    return [
        NodeFailure(
            node=node,
            code=error.code,
            message=str(error),
            hint=error.shown_hint,
            exit_code=error.exit_code,
        )
        for node, error in rest.failed.items()
    ]


def _one_at_a_time(emit: Emit) -> Emit:
    """Several threads speak, and a line must stay whole."""
    lock = threading.Lock()

    def tell(event: Event) -> None:
        with lock:
            emit(event)

    return tell


def _speaks_for(node: str, emit: Emit) -> Emit:
    """Remarks and warnings with the node's name; progress and single paths only the first node tells."""
    named = naming_node(node, emit)

    def tell(event: Event) -> None:
        if isinstance(event, (Log, Warned)):
            named(event)

    return tell


def naming_node(node: str, emit: Emit) -> Emit:
    """Everything as it comes, remarks and warnings with the node's name."""

    def tell(event: Event) -> None:
        if isinstance(event, (Log, Warned)):
            event = msgspec.structs.replace(event, message=f"{node}: {event.message}")
        emit(event)

    return tell
