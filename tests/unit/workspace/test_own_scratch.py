"""Scratch is ours alone: what others made or may write to is refused, what we make is closed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.model.errors.workspace import ScratchUnsafe
from scratchflow.workspace.lock import alone_with
from scratchflow.workspace.workspace import Workspace


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(*paths: Path) -> list[int]:
    return [path.stat().st_mode & 0o777 for path in paths]


def test_what_we_make_is_closed_under_any_umask(tmp_path: Path, umask: int) -> None:
    workspace = Workspace(tmp_path / "scratch" / "me", "work")
    with alone_with(workspace, wait_s=0):
        pass
    made = [workspace.scratch, workspace.state.parent, workspace.state]
    assert modes(*made) == [0o700] * 3, oct(umask)


def test_notes_that_an_earlier_version_left_open_are_closed(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "me", "work")
    workspace.state.mkdir(parents=True)
    workspace.state.parent.chmod(0o755)
    with alone_with(workspace, wait_s=0):
        pass
    assert modes(workspace.state.parent) == [0o700]


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o703])
def test_a_scratch_that_others_may_write_to_is_refused_with_the_fix(
    tmp_path: Path, mode: int
) -> None:
    scratch = tmp_path / "me"
    scratch.mkdir()
    scratch.chmod(mode)
    with pytest.raises(ScratchUnsafe) as caught, alone_with(Workspace(scratch, "work"), wait_s=0):
        pytest.fail("taken")
    assert f"chmod go-w {scratch}" in caught.value.shown_hint
    assert list(scratch.iterdir()) == []


def test_a_shared_directory_with_the_sticky_bit_will_do(tmp_path: Path) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    scratch.chmod(0o1777)
    workspace = Workspace(scratch, "work")
    with alone_with(workspace, wait_s=0):
        pass
    assert modes(workspace.state.parent, workspace.state) == [0o700] * 2
