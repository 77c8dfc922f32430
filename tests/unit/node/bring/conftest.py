"""A desk without a workspace, and what may be brought to it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.requests import Create
from scratchflow.model.results.create import WorkspaceCreated
from scratchflow.node.bring.pack import collect, pack
from scratchflow.node.create import create
from tests.odd_tree import make_odd_tree
from tests.unit.conftest import Desk, make_desk

ID = "20261115T093000Z-3f2a9c"


@pytest.fixture
def empty(tmp_path: Path) -> Desk:
    """A desk without a workspace."""
    desk = make_desk(tmp_path)
    desk.work.rmdir()
    desk.scratch.rmdir()
    return desk


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    make_odd_tree(directory)
    return directory


def bring(desk: Desk, **asked: object) -> WorkspaceCreated:
    return create(desk.context, desk.notify, Create(**asked))  # type: ignore[arg-type]  # by name


def packed(directory: Path, name: str = "work", snapshot: str = ID) -> list[bytes]:
    """What a laptop sends."""
    pieces: list[bytes] = []

    class Out:
        def write(self, content: bytes, /) -> int:
            pieces.append(bytes(content))
            return len(content)

    def silent(*_: object) -> None: ...

    luggage = collect(directory, name, [], silent)
    pack(luggage, Out(), snapshot=snapshot, level=0, warn=silent, progress=silent, threads=1)
    return pieces


def receiving(desk: Desk, pieces: Iterator[bytes] | list[bytes]) -> Desk:
    return Desk(msgspec.structs.replace(desk.context, received=iter(pieces)), desk.events)


def left_behind(desk: Desk) -> list[str]:
    """What is on scratch and in the store, but for the lock's and the reserve's files."""
    found = [*desk.scratch.rglob("*"), *desk.context.store.rglob("*.tar.lz4*")]
    notes = desk.context.workspace.state
    return [str(path) for path in found if path not in {notes, notes.parent}]


def git(directory: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *words], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    directory = tmp_path / "repository"
    directory.mkdir()
    git(directory, "init", "-q")
    (directory / "file").write_text("committed")
    git(directory, "add", ".")
    git(directory, "commit", "-qm", "one")
    return directory
