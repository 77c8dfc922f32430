"""`config set scratch` while a node is held: no command takes the new place for the work of the job."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.workspace import WorkspaceAtFormerScratch
from scratchflow.model.requests import Create, SaveNode, Settle
from scratchflow.node.backup import foretell_backup
from scratchflow.node.create import create
from scratchflow.node.save_node import save_node
from scratchflow.node.settle import settle
from scratchflow.node.snapshot.options import SnapshotOptions
from tests.unit.conftest import Desk, make_desk


def in_job(desk: Desk, scratch: Path, job: int = 7) -> Desk:
    """The same node in a job, with another `scratch` in the profile."""
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
