"""What is brought of a directory, and what stays behind: with `--tracked`, what git does not track."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scratchflow.model.errors import SourceUnusable
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
    assert left_behind(empty) == []
