"""`run` starts in the workspace, and says so when there is none."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.run import LayerFailed, RunDirectoryMissing
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.events import Warned
from scratchflow.model.requests import RunAt
from scratchflow.node.environment.missing import missing_in_words
from scratchflow.node.run_place import run_place
from scratchflow.workspace.notes import write_base
from tests.unit.conftest import Desk, make_desk


def test_it_is_the_workspace(desk: Desk) -> None:
    assert run_place(desk.context, desk.notify, RunAt()).directory == str(desk.work)


def test_a_directory_in_it_has_to_be_there(desk: Desk) -> None:
    (desk.work / "there").mkdir()
    assert run_place(desk.context, desk.notify, RunAt(b"there")).directory == str(desk.work)
    for missing in (b"nowhere", b"nowhere\xff"):
        with pytest.raises(RunDirectoryMissing, match="nowhere"):
            run_place(desk.context, desk.notify, RunAt(missing))


def test_a_shell_opens_without_an_environment_that_fails_and_a_command_does_not_run(
    tmp_path: Path,
) -> None:
    desk = make_desk(tmp_path, '[profiles.test.environment]\nvenv = "env"\n')
    with pytest.raises(LayerFailed) as failed:
        run_place(desk.context, desk.notify, RunAt())
    _, fix = missing_in_words(desk.context.profile, "venv", desk.context.node)
    assert failed.value.shown_hint == fix
    place = run_place(desk.context, desk.notify, RunAt(for_shell=True))
    assert (place.directory, place.sourced) == (str(desk.work), "")
    (warned,) = [event for event in desk.events if isinstance(event, Warned)]
    assert warned.code == "environment.layer_failed"
    assert fix in warned.message


def test_without_a_workspace_nothing_is_run_elsewhere(desk: Desk) -> None:
    shutil.rmtree(desk.work)
    with pytest.raises(WorkspaceMissing):
        run_place(desk.context, desk.notify, RunAt())


def test_a_copy_that_does_not_continue_the_newest_snapshot_is_told_with_both(desk: Desk) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/more", "later")
    newest = str(desk.backup().snapshot)
    place = run_place(desk.context, desk.notify, RunAt())
    assert (place.base, place.newest) == ("", "")
    write_base(desk.context.workspace, desk.context.store, first)
    place = run_place(desk.context, desk.notify, RunAt())
    assert (place.base, place.newest, place.is_old) == (first, newest, False)
    another_job = msgspec.structs.replace(desk.context, job_id=8)
    assert run_place(another_job, desk.notify, RunAt()).is_old


def test_a_fork_beside_the_newest_and_a_snapshot_that_was_gone_back_to_are_no_newer_work(
    desk: Desk,
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/more", "later")
    desk.backup()
    desk.restore(first)
    desk.backup(beside=True, purpose="auto", allow_shrink=True)
    assert run_place(desk.context, desk.notify, RunAt()).newest == ""


def test_without_the_store_a_command_runs_all_the_same(desk: Desk) -> None:
    desk.backup()
    shutil.rmtree(desk.context.store)
    desk.context.store.write_text("in its place")
    place = run_place(desk.context, desk.notify, RunAt())
    assert (place.directory, place.newest) == (str(desk.work), "")
