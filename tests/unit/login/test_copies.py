"""Copies on the further nodes: what differs is told, what could not be looked at is told as that."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from scratchflow import __version__
from scratchflow.login.copies import look_at_copies
from scratchflow.login.status.copy_looks import copies_differ
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.results.backup import CopyShown, CopyState
from scratchflow.reach import node_question as module
from scratchflow.reach.node import NodeTransport
from scratchflow.store.nodes import NodeRecord, record_node
from tests.unit.conftest import Desk

HELD = RunningAllocation(
    job_id=7, name="job", state="running", nodes=("node-1", "node-2", "node-3")
)
ANSWER = """
import json, sys
sys.stdin.readline()
for seq, line in enumerate(json.loads(sys.argv[1])):
    whole = {"v": 1, "seq": seq, "time": "t", "op": "copy", **line}
    print(json.dumps(whole, separators=(",", ":")), flush=True)
"""


class Here(NodeTransport):
    """A node whose agent is a process of this machine: it says what the test wrote down, or nothing."""

    def __init__(self, held: RunningAllocation, answer: CopyState | None) -> None:
        super().__init__(held, {"PATH": "/usr/bin:/bin"})
        self._answer = answer

    def carried(self, _: Sequence[str]) -> list[str | bytes]:
        if self._answer is None:
            return ["sleep", "600"]
        hello = {"type": "hello", "version": __version__, "role": "node", "pid": 1, "host": "n"}
        data = msgspec.to_builtins(self._answer)
        end = {"type": "summary", "data": data, "exit_code": 0, "duration_s": 0, "warnings": 0}
        said = msgspec.json.encode([hello, end]).decode()
        return [sys.executable, "-c", ANSWER, said]

    def not_started(self, error: OSError) -> ScratchflowError:
        raise error

    def describe(self) -> str:
        return "here"


def look(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, within_s: float = 60, **answers: Any
) -> list[CopyShown]:
    def reach(held: RunningAllocation, *_: object) -> NodeTransport:
        return Here(held, answers[held.node.replace("-", "_")])

    monkeypatch.setattr(module, "node_transport", reach)
    environment = {"HOME": str(desk.scratch.parent), "PATH": "", "USER": "u"}
    return look_at_copies(desk.context.settings, HELD, environment, within_s=within_s)


@pytest.fixture
def base(desk: Desk) -> str:
    """The snapshot that the first node's copy equals."""
    snapshot = desk.backup().snapshot or ""
    record = NodeRecord(node="node-1", snapshot=snapshot, workspace_path="/w", job_id=7, time="t")
    record_node(desk.place, record)
    return snapshot


def test_each_copy_is_told_with_what_was_changed_there(
    desk: Desk, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = look(
        desk,
        monkeypatch,
        node_2=CopyState(base=base, changed=3),
        node_3=CopyState(base="20200101T000000Z-000000", changed=0),
    )
    assert seen == [
        CopyShown(node="node-2", base=base, changed=3),
        CopyShown(node="node-3", base="20200101T000000Z-000000", changed=0, other_snapshot=True),
    ]
    (problem,) = copies_differ(seen)
    assert problem.detail == "`node-2` differs: 3 files"
    assert "backup --from-node node-2" in problem.fix


def test_a_snapshot_that_was_committed_again_is_the_same_one(
    desk: Desk, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("work/since")
    desk.backup()
    again = desk.restore(base).committed_as
    assert again
    record_node(
        desk.place,
        NodeRecord(node="node-1", snapshot=again, workspace_path="/w", job_id=7, time="t"),
    )
    seen = look(
        desk,
        monkeypatch,
        node_2=CopyState(base=base, changed=0),
        node_3=CopyState(base=again, changed=0),
    )
    assert [copy.other_snapshot for copy in seen] == [False, False]


def test_a_node_that_does_not_answer_in_time_was_not_looked_at(
    desk: Desk, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert base
    seen = look(desk, monkeypatch, within_s=0.2, node_2=None, node_3=None)
    assert [copy.changed for copy in seen] == [None, None]
    assert all("took longer" in copy.reason for copy in seen)
    assert list(copies_differ(seen)) == []


def test_no_answer_of_slurm_is_a_reason_and_no_error(
    desk: Desk, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert base

    def away(*_: object, **__: object) -> str:
        raise SlurmUnreachable(host="login", reason="no answer")

    monkeypatch.setattr(module, "scratch_of_job", away)
    seen = look(desk, monkeypatch)
    assert all("no answer" in copy.reason for copy in seen)


def test_a_copy_whose_own_changes_are_saved_as_a_fork_still_differs(
    desk: Desk, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("work/README", "node-2's")
    fork = desk.backup(beside=True, purpose="auto").snapshot or ""
    seen = look(
        desk,
        monkeypatch,
        node_2=CopyState(base=fork, changed=0),
        node_3=CopyState(base=base, changed=0),
    )
    assert [copy.fork for copy in seen] == [True, False]
    (problem,) = copies_differ(seen)
    assert problem.name == "nodes.differ"
    assert problem.detail.endswith(f"is saved as a fork, snapshot {fork}")
    assert "backup --from-node node-2` makes that copy the newest" in problem.fix
    more = msgspec.structs.replace(seen[0], changed=2)
    (problem,) = copies_differ([more])
    assert problem.detail == f"`node-2` differs: 2 files since snapshot {fork}"


def test_a_further_node_without_a_workspace_is_a_problem_where_the_first_has_one() -> None:
    copies = [CopyShown(node="node-4", exists=False)]
    (problem,) = copies_differ(copies)
    assert (problem.name, "`node-4`" in problem.detail) == ("nodes.missing", True)
    assert "`scratchflow up`" in problem.fix
    assert list(copies_differ(copies, is_first_there=False)) == []
