"""A restore under construction takes the workspace's place: what was there goes aside, whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.workspace.staging import (
    begin_incoming,
    moved_aside,
    occupied_roots,
    swap_in,
    sweep_incoming,
)
from scratchflow.workspace.workspace import Workspace

ID = "20261115T093000Z-abcdef"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "scratch", "work", also=("env",))
    workspace.state.mkdir(parents=True)
    return workspace


def _incoming(workspace: Workspace, *roots: str) -> Path:
    incoming = begin_incoming(workspace, "1234abcd")
    for root in roots:
        (incoming / root).mkdir(parents=True)
        (incoming / root / "file").write_text("new")
    return incoming


def _write(path: Path, content: str = "old") -> None:
    path.mkdir(parents=True)
    (path / "file").write_text(content)


def test_what_killed_runs_left_is_removed_and_nothing_else(workspace: Workspace) -> None:
    left = _incoming(workspace, "work")
    (left / "work").chmod(0o500)
    (workspace.state / "base.json").write_text("{}")
    sweep_incoming(workspace)
    assert os.listdir(workspace.state) == ["base.json"]


def test_a_token_is_used_once(workspace: Workspace) -> None:
    begin_incoming(workspace, "1234abcd")
    with pytest.raises(FileExistsError):
        begin_incoming(workspace, "1234abcd")


def test_roots_that_hold_something_are_told(workspace: Workspace) -> None:
    _write(workspace.path)
    (workspace.scratch / "env").mkdir()
    assert occupied_roots(workspace.scratch, ["work", "env", "missing"]) == ["work"]


@pytest.mark.slow
def test_what_is_there_goes_aside_whole_and_is_never_merged(workspace: Workspace) -> None:
    _write(workspace.path)
    (workspace.path / "mine").write_text("precious")
    (workspace.scratch / "env").mkdir()
    incoming = _incoming(workspace, "work", "env")
    changes: list[list[str]] = []
    moved = swap_in(incoming, workspace.scratch, workspace.roots, ID,
                    lambda: changes.append(os.listdir(workspace.path)
                                           if workspace.path.exists() else []))  # fmt: skip
    aside = workspace.scratch / f"work.before-{ID}"
    assert moved == [str(aside)]
    assert sorted(os.listdir(aside)) == ["file", "mine"]
    assert os.listdir(workspace.path) == ["file"]
    assert (workspace.scratch / "env/file").read_text() == "new"
    assert changes == [[], ["file"], ["file"]]  # never mixed


def test_each_one_that_went_aside_keeps_its_name_and_the_last_is_found(
    workspace: Workspace,
) -> None:
    taken = [f"work.before-{ID}", *(f"work.before-{ID}.{number}" for number in range(2, 12))]
    for name in taken:
        (workspace.scratch / name).mkdir()
    _write(workspace.path)
    swap_in(_incoming(workspace, "work"), workspace.scratch, ["work"], ID)
    last = moved_aside(workspace.path, ID)
    assert last == workspace.scratch / f"work.before-{ID}.12"
    assert (last / "file").read_text() == "old"
    assert not any(os.listdir(workspace.scratch / name) for name in taken)


def test_names_that_only_look_like_it_are_not_taken_for_what_went_aside(tmp_path: Path) -> None:
    for name in (f"w[o]rk.before-{ID}.old", f"work.before-{ID}.2", f"w[o]rk.before-{ID}.²"):
        (tmp_path / name).mkdir()
    assert moved_aside(tmp_path / "w[o]rk", ID) is None
    (tmp_path / f"w[o]rk.before-{ID}").mkdir()
    assert moved_aside(tmp_path / "w[o]rk", ID) == tmp_path / f"w[o]rk.before-{ID}"
