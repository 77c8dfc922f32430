"""Settings are changed also on file systems without file locks."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from scratchflow.config.edit import apply_edits


def no_locks(*_: object) -> None:
    """Lustre mounted without `flock` answers ENOSYS."""
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


def test_settings_are_changed_also_where_there_are_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", no_locks)
    apply_edits(tmp_path / "config.toml", {"default_profile": "local"})
    assert "local" in (tmp_path / "config.toml").read_text()
