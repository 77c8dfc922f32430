"""A scratch without file locks, or without swapped names, is told."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from scratchflow.workspace import probe
from scratchflow.workspace.probe import probe_scratch


def no_locks(*_: object) -> None:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


def test_a_plain_directory_lacks_nothing_and_stays_empty(tmp_path: Path) -> None:
    found = probe_scratch(tmp_path)
    assert found.dangers() == []
    assert os.listdir(tmp_path) == []


def test_no_locks_are_a_danger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lustre mounted without `flock` answers ENOSYS."""
    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert "no file locks" in probe_scratch(tmp_path).dangers()[0]


def test_names_that_cannot_be_swapped_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "exchange", lambda *_: False)
    found = probe_scratch(tmp_path)
    assert found.dangers() == []
    assert "stop programs" in found.limits()[0]
