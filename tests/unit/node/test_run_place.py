"""`run` starts in the workspace, and says so when there is none."""

from __future__ import annotations

import shutil

import pytest

from scratchflow.model.errors.run import RunDirectoryMissing
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.requests import RunAt
from scratchflow.node.run_place import run_place
from tests.unit.conftest import Desk


def test_it_is_the_workspace(desk: Desk) -> None:
    assert run_place(desk.context, desk.notify, RunAt()).directory == str(desk.work)


def test_a_directory_in_it_has_to_be_there(desk: Desk) -> None:
    (desk.work / "there").mkdir()
    assert run_place(desk.context, desk.notify, RunAt(b"there")).directory == str(desk.work)
    for missing in (b"nowhere", b"nowhere\xff"):
        with pytest.raises(RunDirectoryMissing, match="nowhere"):
            run_place(desk.context, desk.notify, RunAt(missing))


def test_without_a_workspace_nothing_is_run_elsewhere(desk: Desk) -> None:
    shutil.rmtree(desk.work)
    with pytest.raises(WorkspaceMissing):
        run_place(desk.context, desk.notify, RunAt())
