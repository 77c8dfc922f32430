"""One at a time at a workspace: real processes, also killed ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.model.errors.workspace import WorkspaceBusy, WorkspaceFailed
from scratchflow.workspace.lock import alone_with
from scratchflow.workspace.workspace import Workspace

_HOLDS_AND_WAITS = """
import sys
from pathlib import Path
from scratchflow.workspace.lock import alone_with
from scratchflow.workspace.workspace import Workspace
with alone_with(Workspace(Path(sys.argv[1]), "work"), wait_s=0):
    print("alone", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "scratch", "work")


def test_another_process_is_kept_off_until_this_one_is_killed(workspace: Workspace) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDS_AND_WAITS, str(workspace.scratch)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(WorkspaceBusy), alone_with(workspace, wait_s=0):
            pass
        with alone_with(workspace, wait_s=60, on_wait=other.kill):
            assert other.wait() != 0


def test_another_workspace_on_the_same_scratch_is_free(workspace: Workspace) -> None:
    other = Workspace(workspace.scratch, "other")
    with alone_with(workspace, wait_s=0), alone_with(other, wait_s=0):
        pass


def test_the_lock_ends_with_the_block_also_when_that_fails(workspace: Workspace) -> None:
    with pytest.raises(KeyError), alone_with(workspace, wait_s=0):
        raise KeyError
    with alone_with(workspace, wait_s=0):
        pass


def test_a_child_does_not_inherit_the_lock(workspace: Workspace) -> None:
    with alone_with(workspace, wait_s=0):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with child, alone_with(workspace, wait_s=0):
        child.communicate(b"\n")


@pytest.mark.parametrize("in_the_way", ["", ".scratchflow", ".scratchflow/work"])
def test_a_file_in_the_way_is_an_error_that_says_so(workspace: Workspace, in_the_way: str) -> None:
    path = workspace.scratch / in_the_way
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    with (
        pytest.raises(WorkspaceFailed, match=r"exists|[Nn]ot a directory"),
        alone_with(workspace, wait_s=0),
    ):
        pass
    assert os.path.isfile(path)
