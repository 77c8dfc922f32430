"""A lock that goes with its process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.disk.process_lock import is_locked, lock_now

_HOLD = """
import os, sys, time
from scratchflow.disk.process_lock import lock_now
print(lock_now(os.open(sys.argv[1], os.O_RDWR)), flush=True)
time.sleep(600)
"""


def test_it_is_held_while_its_process_lives_and_not_a_moment_longer(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.touch()
    assert not is_locked(file)
    argv = [sys.executable, "-c", _HOLD, str(file)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert is_locked(file)
        descriptor = os.open(file, os.O_RDWR)
        assert not lock_now(descriptor)
        holder.kill()
    assert lock_now(descriptor)
    os.close(descriptor)
    assert not is_locked(file)


def test_what_is_not_there_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError):
        is_locked(tmp_path / "missing")
    with pytest.raises(OSError, match="symbolic"):
        is_locked(tmp_path / "link")
