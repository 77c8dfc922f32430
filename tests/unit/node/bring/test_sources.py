"""A new workspace from a directory, a stream or a clone: whole, saved, and written over nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors import (
    CloneFailed,
    ScratchflowError,
    SnapshotDamaged,
    SourceUnusable,
    StreamBroken,
    WorkspaceKnown,
    WorkspaceNotEmpty,
)
from scratchflow.model.requests import Create
from scratchflow.model.results import WorkspaceCreated
from scratchflow.node.bring.pack import collect, pack
from scratchflow.node.create import create, ready_to_receive
from scratchflow.node.history import verify_snapshots
from scratchflow.store.catalogue import read_catalogue
from tests.odd_tree import make_odd_tree, tree_digest
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

    luggage = collect(directory, name, [], silent, tracked=False)
    pack(luggage, Out(), snapshot=snapshot, level=0, warn=silent, progress=silent, threads=1)
    return pieces


def receiving(desk: Desk, pieces: Iterator[bytes] | list[bytes]) -> Desk:
    return Desk(msgspec.structs.replace(desk.context, received=iter(pieces)), desk.events)


def left_behind(desk: Desk) -> list[str]:
    """What is on scratch and in the store, but for the lock's and the reserve's files."""
    found = [*desk.scratch.rglob("*"), *desk.context.store.rglob("*.tar.lz4*")]
    notes = desk.context.workspace.state
    return [str(path) for path in found if path not in {notes, notes.parent}]


def test_a_directory_becomes_workspace_and_first_snapshot(empty: Desk, project: Path) -> None:
    created = bring(empty, directory=str(project))
    assert tree_digest(empty.work) == tree_digest(project)
    assert [created.snapshot] == empty.ids
    assert created.files == sum(len(files) for _, _, files in os.walk(project)) - 2
    manifest = read_catalogue(empty.place).latest
    assert manifest
    assert (manifest.purpose, manifest.message) == ("created", f"created from {project}")
    assert empty.backup().kind == "unchanged"
    assert verify_snapshots(empty.context, empty.notify, []).bad == []


def test_an_archive_that_is_sent_becomes_the_first_snapshot(empty: Desk, project: Path) -> None:
    ready = ready_to_receive(empty.context, empty.notify, Create())
    assert (ready.workspace, ready.path) == ("work", str(empty.work))
    desk = receiving(empty, packed(project, snapshot=ready.snapshot))
    created = bring(desk, receives=ready.snapshot, named="laptop:project")
    assert (created.snapshot, created.source) == (ready.snapshot, "laptop:project")
    assert tree_digest(empty.work) == tree_digest(project)
    assert verify_snapshots(empty.context, empty.notify, []).bad == []


def test_one_that_breaks_off_leaves_nothing(empty: Desk, project: Path) -> None:
    def cut() -> Iterator[bytes]:
        yield packed(project)[0]
        raise StreamBroken(reason="it ended too early")

    with pytest.raises(StreamBroken):
        bring(receiving(empty, cut()), receives=ID)
    assert left_behind(empty) == []
    assert empty.ids == []


@pytest.mark.parametrize(
    ("name", "snapshot"), [("other", ID), ("work/deeper", ID), ("work", "20261115T093000Z-ffffff")]
)
def test_an_archive_of_something_else_is_refused(
    empty: Desk, project: Path, name: str, snapshot: str
) -> None:
    with pytest.raises(SnapshotDamaged, match="not the archive of this workspace"):
        bring(receiving(empty, packed(project, name, snapshot)), receives=ID)
    assert left_behind(empty) == []


def test_bytes_that_are_no_archive_are_refused(empty: Desk) -> None:
    for content in (b"", b"x", os.urandom(100_000)):
        with pytest.raises(ScratchflowError):
            bring(receiving(empty, [content]), receives=ID)
        assert left_behind(empty) == []
    with pytest.raises(StreamBroken):
        bring(receiving(empty, []), receives="../../etc/x")


def test_files_that_are_there_are_not_written_over(empty: Desk, project: Path) -> None:
    empty.write("work/mine", "mine")
    for asked in (
        {"directory": str(project)},
        {"url": "file:///none"},
        {"receives": ID},
        {"directory": str(project), "dry_run": True},
    ):
        with pytest.raises(WorkspaceNotEmpty) as refused:
            bring(empty, **asked)
        assert refused.value.exit_code == 35
    with pytest.raises(WorkspaceNotEmpty):
        ready_to_receive(empty.context, empty.notify, Create())
    assert empty.content() == {"mine": b"mine"}
    assert empty.ids == []


def test_a_workspace_with_snapshots_is_to_be_restored(desk: Desk, project: Path) -> None:
    desk.backup()
    with pytest.raises(WorkspaceKnown):
        bring(desk, directory=str(project), env="venv")
    with pytest.raises(WorkspaceKnown):
        ready_to_receive(desk.context, desk.notify, Create(env="venv"))


def test_an_empty_workspace_that_was_saved_before_is_filled_too(
    empty: Desk, project: Path, repository: Path
) -> None:
    """`up` on a new cluster makes one, and starts the auto-backup."""
    first = create(empty.context, empty.notify, Create()).snapshot
    assert empty.backup().kind == "unchanged"
    ready = ready_to_receive(empty.context, empty.notify, Create())
    bring(receiving(empty, packed(project, snapshot=ready.snapshot)), receives=ready.snapshot)
    assert tree_digest(empty.work) == tree_digest(project)
    assert empty.ids == [first, ready.snapshot]
    assert read_catalogue(empty.place).snapshots[-1].parent == first
    assert empty.backup().kind == "unchanged"
    empty.restore(str(first))
    assert empty.content() == {}
    with pytest.raises(WorkspaceKnown):
        bring(empty, url=f"file://{repository}")


def test_an_empty_workspace_is_filled(empty: Desk, project: Path) -> None:
    empty.work.mkdir(parents=True)
    bring(empty, directory=str(project))
    assert tree_digest(empty.work) == tree_digest(project)


def test_a_dry_run_counts_and_makes_nothing(empty: Desk, project: Path) -> None:
    (project / ".scratchignore").write_text("src/\n")
    told = bring(empty, directory=str(project), dry_run=True)
    assert (told.snapshot, told.left_out, told.left_out_paths) == (None, 1, ["src/"])
    assert not empty.scratch.exists()
    assert not empty.context.store.exists()
    done = bring(empty, directory=str(project))
    assert (done.files, done.bytes) == (told.files, told.bytes)


def test_a_directory_that_holds_the_store_or_lies_in_the_workspace_is_refused(
    empty: Desk, tmp_path: Path
) -> None:
    for directory in (tmp_path, empty.context.store / "work", empty.work):
        directory.mkdir(parents=True, exist_ok=True)
        with pytest.raises(SourceUnusable, match="overlaps"):
            bring(empty, directory=str(directory))


def test_no_directory_is_told_with_the_way_to_the_laptop(empty: Desk, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, reason in (("none", "no such file"), ("file", "not a directory")):
        with pytest.raises(SourceUnusable, match=reason) as refused:
            bring(empty, directory=str(tmp_path / name))
        assert "`laptop:DIR`" in refused.value.shown_hint


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


def test_a_clone_is_made_whole_and_saved(empty: Desk, repository: Path) -> None:
    bring(empty, url=f"file://{repository}", dry_run=True)
    assert not empty.scratch.exists()
    created = bring(empty, url=f"file://{repository}")
    assert (empty.work / "file").read_text() == "committed"
    assert empty.work.stat().st_mode & 0o777 == 0o700
    assert [created.snapshot] == empty.ids
    assert empty.backup().kind == "unchanged"


def test_a_clone_that_fails_leaves_nothing(empty: Desk, tmp_path: Path) -> None:
    with pytest.raises(CloneFailed, match="fatal: ") as failed:
        bring(empty, url=f"file://{tmp_path}/none")
    assert "laptop:DIR" in failed.value.shown_hint
    assert left_behind(empty) == []


def test_tracked_files_come_as_they_are_now_with_their_repository(
    empty: Desk, repository: Path
) -> None:
    (repository / "file").write_text("changed")
    (repository / "untracked").touch()
    created = bring(empty, directory=str(repository), tracked=True)
    assert (empty.work / "file").read_text() == "changed"
    assert (created.left_out, created.left_out_paths) == (1, ["untracked"])
    status = subprocess.run(
        ["git", "-C", str(empty.work), "status", "--short"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert status.stdout == " M file\n"


def test_tracked_needs_a_repository_of_its_own(
    empty: Desk, project: Path, repository: Path
) -> None:
    with pytest.raises(SourceUnusable, match="not a git repository"):
        bring(empty, directory=str(project), tracked=True)
    git(repository, "worktree", "add", "-q", str(repository.parent / "linked"))
    with pytest.raises(SourceUnusable, match="linked worktree"):
        bring(empty, directory=str(repository.parent / "linked"), tracked=True)
    assert left_behind(empty) == []
