"""What the login host passes on to the node: the request as it was, and the store as it is seen here."""

from __future__ import annotations

import shutil
from typing import Any

import msgspec
import pytest

from scratchflow.agent.request import Request
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.request import job_name
from scratchflow.dispatch import relay as module
from scratchflow.dispatch.relay import relay
from scratchflow.login import copies
from scratchflow.model.errors.allocation import AllocationEnded, AllocationMissing, NodeNotOfJob
from scratchflow.model.errors.hop import HopUnderWay
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.errors.store import StoreLost
from scratchflow.model.errors.workspace import SourceUnusable, WorkspaceMissing, WorkspaceNotEmpty
from scratchflow.model.events import Emit, Event, Log, Warned
from scratchflow.model.requests import NOTHING, Backup, Create, Restore, SaveNode, Settle, Where
from scratchflow.model.results.backup import BackupTaken, CopyShown
from scratchflow.model.results.checks import ChecksDone
from scratchflow.store.identity import read_store_id
from scratchflow.testing.slurm import FakeSlurm
from tests.unit.conftest import Desk


class Node:
    """A node that is asked; keeps the requests, and what grew in the store meanwhile."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.desk = desk
        self.fake = FakeSlurm()
        self.asked: list[Request] = []
        self.jobs: list[int] = []
        self.hosts: list[str] = []
        self.grew: list[bool] = []
        self.answer: Any = {}
        self.says: Event | None = None
        self.told: list[Event] = []
        monkeypatch.setattr(module, "this_slurm", lambda _: Slurm(self.fake, "alice", "login"))
        monkeypatch.setattr(module, "node_transport", self._transport)
        monkeypatch.setattr(module, "ask_node", self._ask)

    def _transport(self, held: Any, *_: object) -> None:
        self.jobs.append(held.job_id)
        self.hosts.append(held.node)

    def _ask(self, _: object, request: Request, emit: Emit, *__: object) -> dict[str, Any]:
        self.asked.append(request)
        if self.says is not None:
            emit(self.says)
        seen = request.store_seen
        place = self.desk.place.directory
        self.grew.append(bool(seen and seen.grows and (place / seen.grows).exists()))
        if isinstance(self.answer, Exception):
            raise self.answer
        return dict(self.answer)

    def relay(self, do: str, arguments: Any, **options: Any) -> Any:
        environment = {"USER": "u", "HOME": str(self.desk.scratch.parent), "PATH": ""}
        settings = self.desk.context.settings
        options = {"verbose": False, **options}
        return relay(settings, do, arguments, environment, self.told.append, **options)


@pytest.fixture
def node(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Node:
    node = Node(desk, monkeypatch)
    node.answer = msgspec.to_builtins(desk.backup())
    return node


def test_without_an_allocation_nothing_is_asked(node: Node) -> None:
    node.fake.add(job_name("test", "abc123"), state="PENDING")
    with pytest.raises(AllocationMissing):
        node.relay("backup", Backup())
    assert node.asked == []


def test_the_request_arrives_as_it_was_with_the_store_of_this_host(node: Node) -> None:
    node.fake.add(job_name("test", "abc123"))
    done = node.relay("backup", Backup(message="by hand"), verbose=True)
    assert isinstance(done, BackupTaken)
    (asked,) = node.asked
    assert (asked.do, asked.arguments["message"], asked.verbose) == ("backup", "by hand", True)
    assert asked.profile_name == "test"
    assert asked.job_name == job_name("test", "abc123")
    assert asked.store_seen
    assert asked.store_seen.id == read_store_id(node.desk.place)


def test_of_two_jobs_the_newest_is_meant_or_the_one_that_is_named(node: Node) -> None:
    first = node.fake.add(job_name("test", "abc123"), nodes="node-1")
    second = node.fake.add(job_name("test", "abc124"), nodes="node-2")
    node.relay("backup", Backup())
    node.relay("backup", Backup(), where=Where(first))
    assert node.jobs == [second, first]
    with pytest.raises(AllocationEnded, match="job 999"):
        node.relay("backup", Backup(), where=Where(999))


def test_a_workspace_that_is_on_its_way_is_told_as_that(node: Node) -> None:
    """While `hop` moves, two jobs run, and the younger one has no workspace yet."""
    node.answer = WorkspaceMissing(path="/scratch/u/work")
    first = node.fake.add(job_name("test", "abc123"), nodes="node-1")
    with pytest.raises(WorkspaceMissing):
        node.relay("backup", Backup())
    node.fake.add(job_name("test", "abc124"), nodes="node-2")
    with pytest.raises(HopUnderWay, match="from `node-1` to `node-2`") as caught:
        node.relay("backup", Backup())
    assert caught.value.exit_code == WorkspaceMissing.exit_code
    with pytest.raises(WorkspaceMissing):  # which is how `hop` asks for the old one
        node.relay("backup", Backup(), where=Where(first))


def test_another_node_of_the_job_is_asked_by_its_name_or_number(node: Node) -> None:
    job = node.fake.add(job_name("test", "abc123"), nodes="node-[1-3]")
    for named in ("", "node-3", "2"):
        node.relay("backup", Backup(), where=Where(job, named))
    assert node.hosts == ["node-1", "node-3", "node-2"]
    for named in ("node-4", "0", "4", "*x"):
        with pytest.raises(NodeNotOfJob, match="node-1, node-2, node-3"):
            node.relay("backup", Backup(), where=Where(job, named))


def test_a_look_makes_no_store(node: Node) -> None:
    node.fake.add(job_name("test", "abc123"))
    settings = node.desk.context.settings
    away = str(node.desk.scratch.parent / "not-yet")
    profile = msgspec.structs.replace(settings.profile, store=away)
    context = msgspec.structs.replace(
        node.desk.context, settings=msgspec.structs.replace(settings, profile=profile)
    )
    node.desk = Desk(context)
    node.answer = {"checks": []}
    assert node.relay("check node", NOTHING) == ChecksDone(checks=[])
    with pytest.raises(msgspec.ValidationError):  # the answer is of another kind
        node.relay("restore", Restore(dry_run=True))
    assert not node.desk.scratch.parent.joinpath("not-yet").exists()


@pytest.mark.parametrize("do", ["create", "create ready"])
def test_a_refused_create_leaves_no_store_behind(node: Node, do: str) -> None:
    node.fake.add(job_name("test", "abc123"))
    store = node.desk.context.store
    shutil.rmtree(node.desk.place.directory)
    node.answer = SourceUnusable(path="/x", host="n", reason="no such directory", next_step="")
    for _ in range(2):  # the second one is not told that a store was lost
        with pytest.raises(SourceUnusable):
            node.relay(do, Create(directory="/x"))
        assert node.asked[-1].store_seen
        assert list(store.iterdir()) == []
    node.answer = ConnectionLost(host="n", reason="it went away")  # the node may be writing to it
    with pytest.raises(ConnectionLost):
        node.relay(do, Create(directory="/x"))
    assert node.desk.place.directory.is_dir()
    node.answer = WorkspaceNotEmpty(path="/x", host="n")
    with pytest.raises(WorkspaceNotEmpty):
        node.relay(do, Create(directory="/x"))
    assert read_store_id(node.desk.place)  # it was there before


def test_a_file_grows_only_while_the_node_is_checked(node: Node) -> None:
    node.fake.add(job_name("test", "abc123"))
    node.relay("backup", Backup())
    node.answer = {"checks": []}
    node.relay("check node", NOTHING)
    assert node.grew == [False, True]
    seen = node.asked[-1].store_seen
    assert seen
    assert not (node.desk.place.directory / seen.grows).exists()


def test_an_empty_place_where_the_store_was_is_refused_untouched(node: Node) -> None:
    node.fake.add(job_name("test", "abc123"))
    node.relay("backup", Backup())
    store = node.desk.context.store
    shutil.rmtree(store)
    with pytest.raises(StoreLost):
        node.relay("settle", Settle())
    assert len(node.asked) == 1
    assert not store.exists()


def test_what_another_node_says_has_its_name_before_it(node: Node) -> None:
    job = node.fake.add(job_name("test", "abc123"), nodes="node-[1-2]")
    node.says = Warned(code="files.unreadable", message="it may not be read")
    for named in ("", "2"):
        node.relay("save node", SaveNode(), where=Where(job, named))
    assert [one.message for one in node.told if isinstance(one, Warned)] == [
        "it may not be read",
        "node-2: it may not be read",
    ]


def test_a_dry_run_tells_of_the_other_nodes_too(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.fake.add(job_name("test", "abc123"), nodes="node-[1-2]")
    copy = CopyShown(node="node-2", changed=1)
    monkeypatch.setattr(copies, "look_at_copies", lambda *_: [copy])
    assert node.relay("backup", Backup(dry_run=True)).copies == [copy]
    assert [one.code for one in node.told if isinstance(one, Warned)] == ["nodes.differ"]
    node.answer = msgspec.to_builtins(node.desk.restore(dry_run=True))
    node.relay("restore", Restore(dry_run=True))
    assert (
        "of `node-1` alone; `node-2` would get"
        in [one.message for one in node.told if isinstance(one, Log)].pop()
    )
