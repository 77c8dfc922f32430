"""Whether a workspace may be backed up: told before anything is written, and never by a traceback."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from scratchflow.model.errors.restore import RestoreIncomplete, RestoreUnfinishable
from scratchflow.model.errors.workspace import WorkspaceFailed, WorkspaceIsLink, WorkspaceMissing
from scratchflow.node.snapshot.allowed import (
    refuse_links,
    require_backupable,
    require_workspace,
)
from scratchflow.workspace.notes import Restoring, begin_restoring, read_restoring
from tests.unit.conftest import Desk


def test_a_workspace_that_is_there_is_allowed(desk: Desk) -> None:
    require_backupable(desk.context)


@pytest.mark.parametrize("what", ["nothing", "file"])
def test_what_is_no_directory_is_no_workspace(desk: Desk, what: str) -> None:
    shutil.rmtree(desk.work)
    if what == "file":
        desk.work.write_text("")
    with pytest.raises(WorkspaceMissing):
        require_workspace(desk.context)


@pytest.mark.parametrize("root", ["team", "team/work"])
def test_a_link_anywhere_on_the_way_to_a_root_is_refused(tmp_path: Path, root: str) -> None:
    (tmp_path / "real/work").mkdir(parents=True)
    if root == "team/work":
        (tmp_path / "team").mkdir()
    (tmp_path / root).symlink_to(tmp_path / "real" if root == "team" else tmp_path / "real/work")
    with pytest.raises(WorkspaceIsLink) as caught:
        refuse_links(tmp_path, ["other", "team/work"])
    assert caught.value.fields["path"] == str(tmp_path / root)


def test_a_root_behind_a_closed_directory_is_left_for_the_scan_to_warn_of(tmp_path: Path) -> None:
    (tmp_path / "closed/inside").mkdir(parents=True)
    (tmp_path / "closed").chmod(0)
    try:
        refuse_links(tmp_path, ["closed/inside/deeper"])
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_a_scratch_that_cannot_be_asked_is_an_error_of_the_workspace(desk: Desk) -> None:
    state = desk.context.workspace.state
    shutil.rmtree(state, ignore_errors=True)
    state.parent.mkdir(exist_ok=True)
    state.symlink_to(state)  # ELOOP, for root too
    with pytest.raises(WorkspaceFailed, match="symbolic links"):
        require_backupable(desk.context)


def test_an_interrupted_restore_says_whether_it_can_be_finished(desk: Desk) -> None:
    taken = desk.backup().snapshot
    assert taken
    begin_restoring(desk.context.workspace, Restoring(snapshot=taken, mode="delta"))
    with pytest.raises(RestoreIncomplete) as caught:
        require_backupable(desk.context)
    assert caught.value.code == "restore.incomplete"
    os.unlink(desk.place.manifest(taken))
    with pytest.raises(RestoreUnfinishable):
        require_backupable(desk.context)


def test_a_store_that_is_gone_says_nothing_about_a_snapshot(desk: Desk) -> None:
    taken = desk.backup().snapshot
    assert taken
    begin_restoring(desk.context.workspace, Restoring(snapshot=taken, mode="delta"))
    shutil.rmtree(desk.context.store)
    with pytest.raises(RestoreIncomplete) as caught:
        require_backupable(desk.context)
    assert caught.value.code == "restore.incomplete"


@pytest.mark.parametrize("content", ["", '{"snapshot": "../x", "mode": "full"}'])
def test_a_damaged_note_of_a_restore_keeps_backups_off_and_can_be_abandoned(
    desk: Desk, content: str
) -> None:
    desk.backup()
    desk.write("work/README", "half of two states")
    (desk.context.workspace.state / "restoring.json").write_text(content)
    for command in (desk.backup, desk.restore):
        with pytest.raises(RestoreUnfinishable):
            command()
    assert desk.restore(abandon=True).safety_snapshot == desk.ids[-1]
    assert read_restoring(desk.context.workspace) is None
    assert desk.backup(purpose="auto").kind == "unchanged"
    assert desk.content()["README"] == b"half of two states"
