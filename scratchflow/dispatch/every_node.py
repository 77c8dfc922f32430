"""One operation on every node of an allocation at once; what fails on one of them stops no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from scratchflow.model.errors import OtherNodeFailed, ScratchflowError
from scratchflow.model.events import Emit, Event, Log, Warned
from scratchflow.model.requests import Arguments, Restore, Settle
from scratchflow.model.results import (
    NodeFailure,
    OnNodes,
    Restored,
    Result,
    RunPlace,
    Settled,
)

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
        rest = _Together(others, _beside(arguments, done), ask, in_turn)
    else:
        rest = _Together(others, _beside(arguments, None), ask, in_turn)
        try:
            done = ask(first, arguments, in_turn)
        except ScratchflowError:
            rest.wait()
            raise
    rest.wait()
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


def _joined(done: Result, first: str, rest: _Together, forks: dict[str, str]) -> Result:
    if isinstance(done, RunPlace):
        places = {node: one for node, one in rest.done.items() if isinstance(one, RunPlace)}
        return msgspec.structs.replace(done, others=places, failed=rest.failures)
    if isinstance(done, OnNodes):
        nodes = [first, *rest.done]
        return msgspec.structs.replace(done, nodes=nodes, failed=rest.failures, forks=forks)
    return done


class _Together:
    """The other nodes, each asked in a thread of its own. Interrupted, the process ends, and they end with it."""

    def __init__(self, nodes: Sequence[str], arguments: Arguments, ask: Ask, emit: Emit) -> None:
        self._nodes, self._arguments, self._ask, self._emit = nodes, arguments, ask, emit
        self._results: dict[str, Result] = {}
        self._errors: dict[str, ScratchflowError] = {}
        self._bugs: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(node,), name=f"ask-{node}", daemon=True)
            for node in nodes
        ]
        for thread in self._threads:
            thread.start()

    def wait(self) -> None:
        """Returns when all are through, and tells what failed."""
        for thread in self._threads:
            thread.join()
        if self._bugs:
            raise self._bugs[0]
        for node, error in self._errors.items():
            self._emit(Warned(code=OtherNodeFailed.code, message=f"`{node}`: {error}"))

    @property
    def done(self) -> dict[str, Result]:
        """What worked, by node, in their order."""
        return {node: self._results[node] for node in self._nodes if node in self._results}

    @property
    def failures(self) -> list[NodeFailure]:
        """What did not."""
        failed = [(node, self._errors[node]) for node in self._nodes if node in self._errors]
        return [
            NodeFailure(
                node=node,
                code=error.code,
                message=str(error),
                hint=error.shown_hint,
                exit_code=error.exit_code,
            )
            for node, error in failed
        ]

    def _run(self, node: str) -> None:
        try:
            self._results[node] = self._ask(node, self._arguments, _speaks_for(node, self._emit))
        except ScratchflowError as error:
            self._errors[node] = error
        except BaseException as bug:  # noqa: BLE001 - raised again where somebody reports it
            self._bugs.append(bug)


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
