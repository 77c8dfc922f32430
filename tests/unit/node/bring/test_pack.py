"""What is brought of a directory, and what stays behind: with `--tracked`, what git does not track."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scratchflow.model.errors.workspace import SourceUnusable
from tests.unit.conftest import Desk
from tests.unit.node.bring.conftest import bring, git, left_behind


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
    git(repository, "clone", "-q", "--bare", str(repository), str(repository.parent / "bare.git"))
    with pytest.raises(SourceUnusable, match="bare repository"):
        bring(empty, directory=str(repository.parent / "bare.git"), tracked=True)
    assert left_behind(empty) == []


def test_a_submodule_stays_one(empty: Desk, repository: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    git(whole, "init", "-q")
    allowed = ["-c", "protocol.file.allow=always"]
    git(whole, *allowed, "submodule", "--quiet", "add", str(repository), "deps/sub")
    git(whole, "commit", "-qm", "with a submodule")
    (whole / "deps/sub/file").write_text("changed")
    bring(empty, directory=str(whole), tracked=True)
    status = subprocess.run(
        ["git", "-C", str(empty.work), "status", "--short"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert status.stdout == " m deps/sub\n"
