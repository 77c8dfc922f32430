"""`create --from` and `--to laptop:` by the real program, on one machine and over the agent's own pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.agent.client import call
from scratchflow.agent.request import asking
from scratchflow.agent.upload import Upload
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.events import Event, Progress
from scratchflow.ssh.transport.local import LocalTransport
from tests.odd_tree import make_odd_tree, tree_digest
from tests.unit.node.bring.conftest import ID, packed

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    make_odd_tree(directory, big_bytes=5 << 20)
    return directory


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program as a user without a cluster types it, in the directory above the project."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "scratchflow", *arguments],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def data(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    done = run(tmp_path, *arguments, "--json")
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert last["type"] == "summary", last
    assert '"type":"data"' not in done.stdout
    found: dict[str, Any] = last["data"]
    return found


def test_there_and_back_without_a_cluster(tmp_path: Path, project: Path) -> None:
    would = run(tmp_path, "create", "--from", "laptop:project", "--dry-run")
    assert " with the contents of `laptop:project`: 13 files, " in would.stdout
    created = data(tmp_path, "create", "--from", "laptop:project")
    assert tree_digest(Path(created["path"])) == tree_digest(project)
    again = run(tmp_path, "create", "--from", "laptop:project")
    assert (again.returncode, again.stdout) == (35, "")

    data(tmp_path, "restore", "--to", "laptop:back")
    assert tree_digest(tmp_path / "back/work") == tree_digest(project)
    data(tmp_path, "restore", "--path", "work/src", "--to", "laptop:~/part")
    assert (tmp_path / "part/src/same").read_bytes() == (project / "plain").read_bytes()
    exported = data(tmp_path, "snapshots", "export", "laptop:all.tar.lz4")
    assert exported["path"] == str(tmp_path / "all.tar.lz4")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["create", "--tracked"], "`--tracked` needs"),
        (["create", "--from", ""], "`--from` is empty"),
        (["create", "--tracked", "--from", "https://host/x.git"], "`--tracked` needs"),
        (["create", "--from", "laptop:"], "needs a directory"),
        (["create", "--from", "ext::sh -c x"], "neither a directory nor a git URL"),
        (["create", "--from", "-x"], "neither a directory nor a git URL"),
        (["restore", "--to", "laptop:"], "needs a directory"),
        (["restore", "--to", "laptop:x", "--from", "y"], "exclude each other"),
        (["restore", "--path", ""], "`--path .` is the whole workspace"),
        (["restore", "--path", "/"], "`--path .` is the whole workspace"),
        (["restore", "--path", "/."], "`--path .` is the whole workspace"),
        (["snapshots", "export", "laptop:"], "needs a file"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    tmp_path: Path, arguments: list[str], problem: str
) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert problem in done.stderr


def ask(tmp_path: Path, pieces: Iterator[bytes], events: list[Event]) -> dict[str, Any]:
    """The request that a login host makes of a node, with an agent of its own process."""
    profile = {
        "scratch": str(tmp_path / "scratch"),
        "store": str(tmp_path / "store"),
        "scheduler": "none",
    }
    request = asking("create", {"receives": ID}, profile_name="p", profile=profile)
    fed = msgspec.structs.replace(request, feeds=True)
    command = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "scratchflow", "agent"]
    with LocalTransport() as transport:
        upload = Upload(pieces)
        return call(transport, fed, events.append, command=command, feed=upload.frames())


def test_an_agent_takes_what_follows_its_request(tmp_path: Path, project: Path) -> None:
    events: list[Event] = []
    created = ask(tmp_path, iter(packed(project)), events)
    assert created["snapshot"] == ID
    assert tree_digest(tmp_path / "scratch/work") == tree_digest(project)
    received = [event for event in events if isinstance(event, Progress)]
    assert "receive" in {event.phase for event in received}


def test_an_agent_whose_sender_fails_keeps_nothing(tmp_path: Path, project: Path) -> None:
    def failing() -> Iterator[bytes]:
        yield packed(project)[0]
        raise PermissionError("a file")

    with pytest.raises(StreamBroken, match="gave up"):
        ask(tmp_path, failing(), [])
    assert not (tmp_path / "scratch/work").exists()
    assert list((tmp_path / "store").rglob("*.lz4*")) == []
