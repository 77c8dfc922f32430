"""A directory of this machine on its way to the node: asked first, whole, and with this machine's own reasons."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.agent.upload import unframed
from scratchflow.archive.read.archive_file import open_index
from scratchflow.flows.transfer import bring as module
from scratchflow.flows.transfer.bring import absolute, create_from_here
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.transfer import FileFailed
from scratchflow.model.errors.workspace import SourceUnusable, WorkspaceNotEmpty
from scratchflow.model.events import Progress, Warned
from scratchflow.model.requests import Arguments, Create
from scratchflow.model.results.create import ReadyToReceive, WorkspaceCreated
from tests.unit.flows.told import ToldCluster, give

ID = "20261115T093000Z-3f2a9c"
READY = ReadyToReceive(path="/scratch/work", workspace="work", snapshot=ID, host="n1")
CREATED = WorkspaceCreated(path="/scratch/work", snapshot=ID, host="n1")


class Node(ToldCluster):
    """Takes what is sent, as the agent does."""

    def __init__(self, directory: Path, ready: Any = READY) -> None:
        super().__init__(directory, {"create ready": ready, "create": CREATED})
        self.archive = directory / "received.tar.lz4"

    def at_workspace(self, do: str, request: Arguments, kind: Any, **options: Any) -> Any:
        if feed := options.get("feed"):
            self.archive.write_bytes(b"".join(unframed(feed)))
            options["emit"](Progress(phase="receive", bytes_done=1))
        return super().at_workspace(do, request, kind)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    (directory / "src").mkdir(parents=True)
    (directory / "src/main.py").write_text("print()")
    (directory / "big").write_bytes(b"x" * 3_000_000)
    (directory / "left.o").touch()
    (directory / ".scratchignore").write_text("*.o\n")
    return directory


def bring(node: ToldCluster, directory: Path | str, **asked: Any) -> WorkspaceCreated:
    return create_from_here(node.caller, Create(**asked), str(directory), node.emit)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    node = Node(tmp_path)
    give(monkeypatch, module, node)
    return node


def test_what_arrives_is_the_whole_archive_under_the_nodes_id(node: Node, project: Path) -> None:
    created = bring(node, project)
    index = open_index(node.archive)
    paths = {index.path(entry) for entry in range(len(index))}
    assert index.id == ID
    assert {b"work/src/main.py", b"work/big"} <= paths
    assert b"work/left.o" not in paths
    assert (created.left_out, created.left_out_paths) == (1, ["left.o"])
    assert node.done == ["create ready", "create"]
    asked = node.asked[-1][1]
    assert isinstance(asked, Create)
    assert asked.receives == ID


def test_progress_is_this_machines_and_not_packed_bytes(node: Node, project: Path) -> None:
    bring(node, project)
    shown = [event for event in node.told if isinstance(event, Progress)]
    assert {event.phase for event in shown} == {"scan", "send"}
    assert shown[-1].bytes_total
    assert shown[-1].bytes_total > 3_000_000


def test_a_refusal_comes_before_anything_is_read(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(tmp_path, WorkspaceNotEmpty(path="/scratch/work", host="n1"))
    give(monkeypatch, module, node)
    with pytest.raises(WorkspaceNotEmpty):
        bring(node, project)
    assert node.told == []


def test_what_is_no_directory_is_told_before_a_node_is_asked(node: Node, project: Path) -> None:
    for name in ("none", "big"):
        with pytest.raises(SourceUnusable, match=name):
            bring(node, project / name)
    assert node.done == []


def test_a_directory_without_git_is_refused_before_a_node_is_asked(
    node: Node, project: Path
) -> None:
    """The first question to the node makes the store, which would stay, empty."""
    environment = {**node.caller.environment, "PATH": os.environ["PATH"]}
    caller = msgspec.structs.replace(node.caller, environment=environment)
    with pytest.raises(SourceUnusable, match="not a git repository"):
        create_from_here(caller, Create(tracked=True), str(project), node.emit)
    assert node.done == []


def test_a_dry_run_counts_and_sends_nothing(node: Node, project: Path) -> None:
    told = bring(node, project, dry_run=True, named="laptop:x\x1b")
    assert (told.dry_run, told.snapshot, told.files, told.left_out) == (True, None, 3, 1)
    assert "\x1b" not in (told.source or "")
    assert node.done == ["create ready"]


def test_too_little_room_is_told_and_left_to_the_node(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(tmp_path, msgspec.structs.replace(READY, free_bytes=1000))
    give(monkeypatch, module, node)
    assert bring(node, project).snapshot == ID
    codes = [event.code for event in node.told if isinstance(event, Warned)]
    assert codes == ["create.little_room"]


def test_why_this_machine_gave_up_is_told_and_not_that_the_stream_ended(
    node: Node, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def __init__(self, _: object) -> None: ...

        def __iter__(self) -> Iterator[bytes]:
            yield b"first"
            raise FileFailed(path="big", reason="the disk broke")

        def close(self) -> None: ...

    monkeypatch.setattr("scratchflow.archive.write.streamed.Streamed", Failing)
    with pytest.raises(FileFailed, match="the disk broke"):
        bring(node, project)
    assert not node.archive.exists()


def test_what_the_node_complains_of_is_told_as_it_is(node: Node, project: Path) -> None:
    node._answers["create"] = StreamBroken(reason="no room")
    with pytest.raises(StreamBroken, match="no room"):
        bring(node, project)


def test_a_home_of_nobody_is_told_as_that() -> None:
    with pytest.raises(FileFailed, match="~nobody-of-this-name"):
        absolute("~nobody-of-this-name/x")
