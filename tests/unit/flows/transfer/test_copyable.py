"""Two profiles with one store have nothing to copy: what brings the work over is named before anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.transfer.copyable import require_copyable
from scratchflow.model.errors.transfer import CopyToItself, WorkspaceNamedOtherwise
from scratchflow.model.profile import Profile


def settings(name: str, login: str, store: str, workspace: str = "work") -> Settings:
    profile = Profile(login=login, store=store, workspace=workspace)
    return Settings(Path("/c"), True, name, profile, {}, ["cpu", "gpu"])


CPU = settings("cpu", "aws", "/fsx/snapshots")


def test_the_way_over_is_to_leave_here_and_to_begin_there() -> None:
    with pytest.raises(CopyToItself) as refused:
        require_copyable(CPU, settings("gpu", "aws", "/fsx/snapshots/"))
    hint = refused.value.shown_hint
    assert hint.startswith("`scratchflow -p cpu clear` saves the workspace")
    assert "`scratchflow -p gpu up` restores it" in hint
    assert "config set" not in hint


def test_workspaces_with_two_names_get_one_first() -> None:
    with pytest.raises(CopyToItself) as refused:
        require_copyable(CPU, settings("gpu", "aws", "/fsx/snapshots", "my work"))
    hint = refused.value.shown_hint
    assert hint.startswith("`scratchflow -p gpu config set workspace work` gives both")
    assert "after that, `scratchflow -p cpu clear`" in hint


def test_other_stores_need_the_same_name_and_nothing_else() -> None:
    require_copyable(CPU, settings("gpu", "aws", "/other"))
    require_copyable(CPU, settings("gpu", "lab", "/fsx/snapshots"))
    with pytest.raises(WorkspaceNamedOtherwise):
        require_copyable(CPU, settings("gpu", "lab", "/fsx/snapshots", "other"))
