"""What a job runs from: everything in the workspace, and which commit that was."""

from __future__ import annotations

import shutil
import subprocess

import msgspec
import pytest

from scratchflow.model.errors.jobs import JobLacksEnvironment
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.model.requests import Freeze
from scratchflow.node.context import NodeContext
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


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("also", "step"),
    [
        ([], "`scratchflow config set backup.also '[\"env\"]'` takes it along"),
        (["env"], "`scratchflow restore --path env` brings it"),
    ],
)
def test_without_the_environment_that_the_job_needs_no_snapshot_is_taken(
    desk: Desk, also: list[str], step: str, dry_run: bool
) -> None:
    context = _with_environment(desk, also)
    with pytest.raises(JobLacksEnvironment) as caught:
        freeze(context, desk.notify, Freeze(dry_run=dry_run))
    assert step in caught.value.shown_hint
    assert desk.ids == []


def test_with_it_the_snapshot_is_taken(desk: Desk) -> None:
    desk.write("env/bin/activate")
    assert freeze(_with_environment(desk, ["env"]), desk.notify, Freeze()).snapshot


def test_without_a_workspace_that_is_what_is_told(desk: Desk) -> None:
    shutil.rmtree(desk.work)
    with pytest.raises(WorkspaceMissing):
        freeze(_with_environment(desk, []), desk.notify, Freeze())


def _with_environment(desk: Desk, also: list[str]) -> NodeContext:
    profile = msgspec.structs.replace(
        desk.context.profile,
        environment=EnvironmentOptions(venv="env"),
        backup=msgspec.structs.replace(desk.context.profile.backup, also=also),
    )
    settings = msgspec.structs.replace(desk.context.settings, profile=profile)
    return msgspec.structs.replace(desk.context, settings=settings)
