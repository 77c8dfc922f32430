"""A `.ssh` of its own for each test, and ssh's own view of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.ssh.config.paths import SshPaths


@pytest.fixture
def places(tmp_path: Path) -> SshPaths:
    """An empty `.ssh` directory."""
    (tmp_path / ".ssh").mkdir(mode=0o700)
    return SshPaths(tmp_path / ".ssh" / "config")


@pytest.fixture(params=[0o000, 0o002, 0o077], ids=oct)
def any_umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Each umask that people have."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def ssh_view(config: Path, host: str) -> tuple[int, str]:
    """Exit code and output of `ssh -G`: all that ssh would do for this host."""
    done = subprocess.run(
        ["ssh", "-T", "-G", "-F", str(config), host],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout
