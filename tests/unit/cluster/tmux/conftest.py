"""A real tmux server of the test's own."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scratchflow.cluster.command import local_run
from scratchflow.cluster.tmux.server import Tmux


def retry_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a server that nobody else has, in a directory and with a home of the test's own."""
    name = f"sf-{secrets.token_hex(4)}"
    directory = Path(f"/tmp/{name}")  # short: a socket's path has a limit
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("TMUX_TMPDIR", str(directory))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TMUX", raising=False)
    yield name
    for server in (name, "default"):
        subprocess.run(["tmux", "-L", server, "kill-server"], check=False, capture_output=True)
    subprocess.run(["rm", "-r", str(directory)], check=True)


@pytest.fixture
def tmux(socket: str) -> Tmux:
    return Tmux(local_run(os.environ), "login", socket)
