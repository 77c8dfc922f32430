"""What a job runs from: everything in the workspace, and which commit that was."""

from __future__ import annotations

import subprocess

from scratchflow.model.requests import Freeze
from scratchflow.node.job.freeze import freeze
from tests.unit.conftest import Desk


def git(desk: Desk, *words: str) -> str:
    named = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    argv = ["git", *named, "-C", str(desk.work), *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def test_the_snapshot_is_the_workspace_as_it_is(desk: Desk) -> None:
    first = freeze(desk.context, desk.notify, Freeze())
    assert (first.snapshot, first.git) == (desk.ids[-1], None)
    assert freeze(desk.context, desk.notify, Freeze()).snapshot == first.snapshot


def test_the_commit_is_told_and_whether_files_differ_from_it(desk: Desk) -> None:
    git(desk, "init", "-q")
    git(desk, "add", "README")
    git(desk, "commit", "-qm", "first")
    state = freeze(desk.context, desk.notify, Freeze()).git
    assert state is not None
    assert (state.commit, state.branch, state.dirty) == (
        git(desk, "rev-parse", "HEAD"),
        "main",
        False,
    )
    desk.write("work/README", "changed")
    state = freeze(desk.context, desk.notify, Freeze()).git
    assert state is not None
    assert state.dirty is True


def test_a_dry_run_takes_no_snapshot(desk: Desk) -> None:
    freeze(desk.context, desk.notify, Freeze(dry_run=True))
    assert desk.ids == []
