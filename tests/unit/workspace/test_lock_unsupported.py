"""A scratch without file locks: a command says so, and nothing crashes."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from scratchflow.model.errors.workspace import WorkspaceFailed
from scratchflow.workspace.lock import alone_with
from scratchflow.workspace.workspace import Workspace


def no_locks(*_: object) -> None:
    """Lustre mounted without `flock` answers ENOSYS."""
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


def test_a_command_says_that_scratch_has_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", no_locks)
    workspace = Workspace(tmp_path, "work")
    with pytest.raises(WorkspaceFailed, match="no file locks"), alone_with(workspace, wait_s=0):
        pass
