"""One operation on every node: together, or the first one first; a failure is named and stops no other."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from scratchflow.dispatch.every_node import on_every_node
from scratchflow.model.errors.restore import TargetNotEmpty
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.events import Emit, Event, Log, Progress, Warned
from scratchflow.model.requests import NOTHING, Arguments, Restore, Settle
from scratchflow.model.results.base import Result
from scratchflow.model.results.restore import Restored, Settled
from scratchflow.model.results.run import RunPlace

NODES = ["node-1", "node-2", "node-3"]
SETTLED = Settled(action="restored", path="/w", snapshot="a")


class Nodes:
    """Keeps what each was asked; answers by node, or raises that."""

    def __init__(self, answer: Any, **answers: Any) -> None:
        self.asked: dict[str, Arguments] = {}
        self.told: list[Event] = []
        self._answer, self._answers = answer, answers

    def ask(self, node: str, arguments: Arguments, emit: Emit) -> Result:
        self.asked[node] = arguments
        emit(Progress(phase="restore"))
        emit(Log(level="info", message="well"))
        answer = self._answers.get(node.replace("-", "_"), self._answer)
        if isinstance(answer, Exception):
            raise answer
        result: Result = answer
        return result

    def run(self, arguments: Arguments, *, first_alone: bool = False) -> Any:
        return on_every_node(NODES, arguments, self.ask, self.told.append, first_alone=first_alone)


def test_all_are_asked_and_only_the_first_tells_its_progress() -> None:
    nodes = Nodes(SETTLED)
    done = nodes.run(Settle())
    assert (done.nodes, done.failed, done.exit_code()) == (NODES, [], 0)
    assert nodes.asked == {
        "node-1": Settle(),
        "node-2": Settle(beside=True),
        "node-3": Settle(beside=True),
    }
    assert [one for one in nodes.told if isinstance(one, Progress)] == [Progress(phase="restore")]
    said = sorted(one.message for one in nodes.told if isinstance(one, Log))
    assert said == ["node-2: well", "node-3: well", "well"]


def test_they_work_at_the_same_time() -> None:
    """Each waits for the other two: one after the other, they would wait for ever."""
    together = threading.Barrier(3, timeout=60)

    def ask(_: str, __: Arguments, ___: Emit) -> Result:
        together.wait()
        return SETTLED

    on_every_node(NODES, Settle(), ask, lambda _: None, first_alone=False)


def test_the_others_get_the_very_snapshot_that_the_first_has_now() -> None:
    fields: Any = {"mode": "delta", "target": "/w", "files": 1, "bytes": 1}
    written: Any = {"written_files": 1, "written_bytes": 1, "duration_s": 0.1}
    nodes = Nodes(Restored(snapshot="old", committed_as="new", **fields, **written))
    nodes.run(Restore(snapshot="yesterday"), first_alone=True)
    assert nodes.asked["node-1"] == Restore(snapshot="yesterday")
    assert nodes.asked["node-3"] == Restore(snapshot="new", beside=True)


@pytest.mark.parametrize("first_alone", [True, False])
def test_a_failure_on_another_node_is_named_and_the_rest_stays(*, first_alone: bool) -> None:
    nodes = Nodes(SETTLED, node_2=TargetNotEmpty(target="/w"))
    done = nodes.run(Settle(), first_alone=first_alone)
    assert done.nodes == ["node-1", "node-3"]
    (failed,) = done.failed
    assert (failed.node, failed.code) == ("node-2", TargetNotEmpty.code)
    assert done.exit_code() == TargetNotEmpty.exit_code
    (told,) = [one for one in nodes.told if isinstance(one, Warned)]
    assert told.message.startswith("`node-2`: ")


def test_a_failure_of_the_first_is_the_error_after_the_others_are_through() -> None:
    nodes = Nodes(SETTLED, node_1=NoSpace(path="/w", reason="full"), node_3=KeyError("x"))
    with pytest.raises(KeyError):  # a bug is never passed over
        nodes.run(Settle())
    nodes = Nodes(SETTLED, node_1=NoSpace(path="/w", reason="full"))
    with pytest.raises(NoSpace):
        nodes.run(Settle())
    assert set(nodes.asked) == set(NODES)
    alone = Nodes(SETTLED, node_1=NoSpace(path="/w", reason="full"))
    with pytest.raises(NoSpace):
        alone.run(Settle(), first_alone=True)
    assert set(alone.asked) == {"node-1"}


def test_where_a_command_starts_is_told_for_each() -> None:
    nodes = Nodes(RunPlace(directory="/w"), node_3=RunPlace(directory="/other"))
    place = nodes.run(NOTHING)
    assert {node: one.directory for node, one in place.others.items()} == {
        "node-2": "/w",
        "node-3": "/other",
    }


@pytest.mark.parametrize("is_settled", [True, False])
def test_what_a_further_node_saved_before_it_was_replaced_is_named(*, is_settled: bool) -> None:
    fields: Any = {"mode": "delta", "target": "/w", "files": 1, "bytes": 1}
    written: Any = {"written_files": 1, "written_bytes": 1, "duration_s": 0.1}
    plain = Restored(snapshot="new", **fields, **written)
    saved = Restored(snapshot="new", safety_snapshot="fork", **fields, **written)
    answers: list[Any] = [plain, saved]
    if is_settled:
        answers = [msgspec.structs.replace(SETTLED, restored=one) for one in answers]
    # Of the first node it is no fork: the verb itself tells where that is.
    nodes = Nodes(answers[0], node_1=answers[1], node_3=answers[1])
    done = nodes.run(Settle() if is_settled else Restore())
    assert done.forks == {"node-3": "fork"}
    (told,) = [one for one in nodes.told if isinstance(one, Warned)]
    assert told.code == "nodes.fork"
    assert "`node-3` held changes of its own" in told.message
    assert "snapshot fork" in told.message
