"""A scratch that cannot be used: said before anything is begun there, with what could be used instead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.model.errors.workspace import ScratchUnusable
from scratchflow.workspace.usual_scratch import require_usable_scratch
from scratchflow.workspace.workspace import Workspace


def test_one_that_is_there_or_can_be_made_is_fine(tmp_path: Path) -> None:
    for scratch in (tmp_path, tmp_path / "not/yet"):
        require_usable_scratch(Workspace(scratch, "work"), "node-1")


def test_one_that_cannot_be_made_is_told_with_the_others(tmp_path: Path) -> None:
    free = tmp_path / "free"
    free.mkdir()
    workspace = Workspace(Path("/proc/nosuch/alice"), "work")
    others = [f"{free}/$USER", f"{tmp_path}/missing/$USER"]
    with pytest.raises(ScratchUnusable) as caught:
        require_usable_scratch(workspace, "node-1", others)
    assert str(caught.value) == (
        "scratch `/proc/nosuch/alice` cannot be used on `node-1`: you may not make it in `/proc`"
    )
    assert f"(usable there: {free}/$USER)" in caught.value.shown_hint
    assert "scratchflow config set scratch" in caught.value.shown_hint


def test_one_beneath_a_directory_that_may_not_be_searched_is_told_and_no_crash(
    tmp_path: Path,
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    if os.access(closed, os.X_OK):
        pytest.skip("root may search anywhere")
    workspace = Workspace(closed / "alice", "work")
    with pytest.raises(ScratchUnusable, match=f"in `{closed}`"):
        require_usable_scratch(workspace, "node-1", [f"{closed}/x/$USER"])
