"""`run` starts in the workspace, and says so when there is none."""

from __future__ import annotations

import shutil

import pytest

from scratchflow.model.errors import WorkspaceMissing
from scratchflow.model.requests import NOTHING
from scratchflow.node.run_place import run_place
from tests.unit.conftest import Desk


def test_it_is_the_workspace(desk: Desk) -> None:
    assert run_place(desk.context, desk.notify, NOTHING).directory == str(desk.work)


def test_without_a_workspace_nothing_is_run_elsewhere(desk: Desk) -> None:
    shutil.rmtree(desk.work)
    with pytest.raises(WorkspaceMissing):
        run_place(desk.context, desk.notify, NOTHING)
