"""`config set scratch` while work is at the former place: no command takes the new place for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.workspace import (
    UnsavedAtFormerScratch,
    WorkspaceAtFormerScratch,
    WorkspaceMissing,
)
from scratchflow.model.requests import Create, DiffWorkspace, RunAt, SaveNode, Settle
from scratchflow.node.backup import foretell_backup
from scratchflow.node.create import create
from scratchflow.node.history.live_diff import diff_workspace
from scratchflow.node.run_place import run_place
from scratchflow.node.save_node import save_node
from scratchflow.node.settle import settle
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.workspace.notes import Restoring, begin_restoring
from tests.unit.conftest import Desk, make_desk


def in_job(desk: Desk, scratch: Path, job: int | None = 7) -> Desk:
    """The same node in a job, or in none, with another `scratch` in the profile."""
    workspace = msgspec.structs.replace(desk.context.workspace, scratch=scratch)
    named = {"job_id": job, "job_name": lambda: f"scratchflow-{job}"}
    return Desk(msgspec.structs.replace(desk.context, workspace=workspace, **named))


@pytest.fixture
def former(tmp_path: Path) -> Desk:
    """A job with its workspace, and a file in it that no snapshot has."""
    desk = in_job(make_desk(tmp_path), tmp_path / "scratch")
    desk.write("work/saved", "x")
    desk.backup()
    desk.write("work/unsaved", "x")
    return desk


@pytest.fixture
def now(former: Desk, tmp_path: Path) -> Desk:
    (tmp_path / "scratch" / "other").mkdir()
    return in_job(former, tmp_path / "scratch" / "other")


COMMANDS: dict[str, Callable[[Desk], object]] = {
    "up": lambda desk: settle(desk.context, desk.notify, Settle()),
    "up --dry-run": lambda desk: settle(desk.context, desk.notify, Settle(dry_run=True)),
    "clear": lambda desk: save_node(desk.context, desk.notify, SaveNode(message="")),
    "backup": lambda desk: desk.backup(),
    "backup --dry-run": lambda desk: foretell_backup(desk.context, desk.notify, SnapshotOptions()),
    "restore": lambda desk: desk.restore(),
    "create": lambda desk: create(desk.context, desk.notify, Create()),
}


# They change nothing at the new place, and go on where there is a workspace.
LOOKS: dict[str, Callable[[Desk], object]] = {
    "run": lambda desk: run_place(desk.context, desk.notify, RunAt()),
    "diff": lambda desk: diff_workspace(desk.context, desk.notify, DiffWorkspace()),
}


@pytest.mark.parametrize("command", LOOKS)
def test_what_needs_a_workspace_says_where_it_is(now: Desk, command: str) -> None:
    with pytest.raises(WorkspaceAtFormerScratch):
        LOOKS[command](now)
    later = in_job(now, now.scratch, job=8)
    with pytest.raises(WorkspaceMissing):
        LOOKS[command](later)


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_refused_with_both_ways_on(
    former: Desk, now: Desk, command: str, tmp_path: Path
) -> None:
    for has_older_copy in (False, True):
        if has_older_copy:
            now.write("work/old", "of an earlier job")
        with pytest.raises(WorkspaceAtFormerScratch) as refused:
            COMMANDS[command](now)
        assert f"`{former.work}`" in str(refused.value)
        assert f"--set scratch={tmp_path / 'scratch'} clear`" in refused.value.shown_hint
        assert sorted(os.listdir(now.work)) == ["old"] if has_older_copy else not now.work.exists()
    assert len(former.ids) == 1
    former.backup()
    now.restore(to=tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "work" / "unsaved").exists()


def test_a_later_job_uses_the_new_place(now: Desk) -> None:
    later = in_job(now, now.scratch, job=8)
    assert settle(later.context, later.notify, Settle()).action == "restored"
    assert (now.work / "saved").exists()


def test_what_is_gone_at_the_former_place_hinders_nothing(former: Desk, now: Desk) -> None:
    former.work.rename(former.work.with_name("away"))
    assert settle(now.context, now.notify, Settle()).action == "restored"


def test_another_name_of_the_same_directory_is_no_other_place(former: Desk, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    same = in_job(former, tmp_path / "link" / "scratch")
    assert same.backup().snapshot == former.ids[-1]


@pytest.fixture
def moved(tmp_path: Path) -> tuple[Desk, Desk]:
    """Without a cluster: a workspace with a file that no snapshot has, and the profile with another scratch."""
    former = make_desk(tmp_path)
    former.write("work/saved", "x")
    former.backup()
    former.write("work/unsaved", "x")
    return former, in_job(former, tmp_path / "other", job=None)


WITHOUT_JOB = {name: one for name, one in (COMMANDS | LOOKS).items() if name != "clear"}


@pytest.mark.parametrize("command", WITHOUT_JOB)
def test_without_a_cluster_unsaved_work_is_not_left_at_the_former_place(
    moved: tuple[Desk, Desk], command: str, tmp_path: Path
) -> None:
    former, now = moved
    with pytest.raises(UnsavedAtFormerScratch) as refused:
        WITHOUT_JOB[command](now)
    assert f"`{former.work}`, has changes" in str(refused.value)
    assert f"--set scratch={tmp_path / 'scratch'} backup`" in refused.value.shown_hint
    assert not now.scratch.exists()
    assert len(former.ids) == 1


def test_without_a_cluster_a_saved_workspace_comes_to_the_new_place_and_back(
    moved: tuple[Desk, Desk],
) -> None:
    former, now = moved
    former.backup()
    now.restore()
    assert (now.work / "unsaved").exists()
    now.write("work/later", "x")
    with pytest.raises(UnsavedAtFormerScratch):
        former.restore()
    now.backup()
    former.restore()
    assert (former.work / "later").exists()


def test_an_interrupted_restore_at_the_former_place_is_not_left_behind(
    moved: tuple[Desk, Desk],
) -> None:
    former, now = moved
    saved = former.backup().snapshot
    assert saved is not None
    begin_restoring(former.context.workspace, Restoring(snapshot=saved, mode="delta"))
    with pytest.raises(UnsavedAtFormerScratch):
        now.restore()


def test_the_workspace_of_another_profile_with_the_same_store_hinders_nothing(
    moved: tuple[Desk, Desk],
) -> None:
    another = of_profile(moved[1], "another")
    another.restore()
    assert sorted(os.listdir(another.work)) == ["saved"]


def of_profile(desk: Desk, name: str) -> Desk:
    settings = msgspec.structs.replace(desk.context.settings, name=name)
    return Desk(msgspec.structs.replace(desk.context, settings=settings))


def test_the_workspace_of_another_profile_at_the_new_place_hides_nothing(
    moved: tuple[Desk, Desk],
) -> None:
    former, now = moved
    of_profile(now, "another").restore()
    for command in ("up", "backup", "restore"):
        with pytest.raises(UnsavedAtFormerScratch):
            COMMANDS[command](now)
    former.backup()
    now.restore()
    assert (now.work / "unsaved").exists()


def test_nor_does_that_of_another_profile_at_a_third_place(
    moved: tuple[Desk, Desk], tmp_path: Path
) -> None:
    former, now = moved
    another = of_profile(in_job(former, tmp_path / "third", job=None), "another")
    another.restore()
    with pytest.raises(UnsavedAtFormerScratch):
        now.restore()


def test_a_copy_that_the_profile_moved_on_from_is_not_looked_at_again(
    moved: tuple[Desk, Desk],
) -> None:
    former, now = moved
    former.backup()
    now.restore()
    former.write("work/late", "x")
    now.write("work/new", "x")
    now.backup()
    assert settle(now.context, now.notify, Settle()).action == "nothing"
