"""A new workspace from a directory, a stream or a clone: whole, saved, and written over nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.model.errors.workspace import (
    CloneFailed,
    SourceUnusable,
    WorkspaceKnown,
    WorkspaceNotEmpty,
)
from scratchflow.model.requests import Create
from scratchflow.node.create import create, ready_to_receive
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.store.catalogue import read_catalogue
from tests.odd_tree import tree_digest
from tests.unit.conftest import Desk
from tests.unit.node.bring.conftest import ID, bring, left_behind, packed, receiving


@pytest.mark.slow
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
        assert "`scratchflow backup`" in refused.value.shown_hint
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_node_without_git_is_told_as_that_and_a_token_is_not_told(
    empty: Desk, tmp_path: Path
) -> None:
    request = Create(url="https://me:token@host.invalid/x.git")
    with pytest.raises(CloneFailed) as failed:
        create(empty.context, empty.notify, request, {"PATH": str(tmp_path)})
    assert "`https://host.invalid/x.git`" in str(failed.value)
    assert "there is no `git` on the PATH" in str(failed.value)
    assert failed.value.shown_hint.startswith("clone it on the laptop")
    with pytest.raises(CloneFailed, match=r"host\.invalid") as failed:
        create(empty.context, empty.notify, request)
    assert "token" not in str(failed.value)
    assert left_behind(empty) == []
