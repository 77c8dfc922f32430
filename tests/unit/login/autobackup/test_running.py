"""A loop that is no step is found and signalled on its node, and nothing else ever is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.login.autobackup.running import signal_over_ssh
from scratchflow.login.host import LoginHost
from scratchflow.ssh.transport import node as neighbour
from scratchflow.store.heartbeats import Heartbeat
from tests.unit.reach.test_node import HELD, OLD, SSH, Host

WAIT = "import time; time.sleep(60)"


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", WAIT, *words]) as running:
        yield running
        running.kill()


def signalled(home: Path, pid: int, name: str, ssh: str = SSH) -> bool | None:
    environment = Host(home, srun=OLD, ssh=ssh).environment
    login = LoginHost(load_settings(Asked(), {}), environment, lambda _: None)
    life = Heartbeat(
        node="node-1",
        job_id=7,
        step_id=None,
        pid=pid,
        token="t",  # noqa: S106 - no secret
        every_s=1,
        phase="waiting",
        time="",
    )
    return signal_over_ssh(login, HELD, life, name)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(neighbour, "know_node", lambda *_: None)


def test_an_agent_gets_the_signal(tmp_path: Path) -> None:
    with process("agent") as loop:
        assert signalled(tmp_path, loop.pid, "TERM") is True
        assert loop.wait(10) == -15


def test_a_number_that_was_given_out_again_is_left_alone(tmp_path: Path) -> None:
    with process("my-agent", "agents") as stranger:
        assert signalled(tmp_path, stranger.pid, "TERM") is False
        assert stranger.poll() is None


def test_a_dead_one_is_known_to_be_dead_and_a_silent_node_says_nothing(tmp_path: Path) -> None:
    with process("agent") as loop:
        pass
    (tmp_path / "silent").mkdir()
    assert signalled(tmp_path, loop.pid, "0") is False
    refused = "echo 'Permission denied (publickey).' >&2; exit 255\n"
    assert signalled(tmp_path / "silent", loop.pid, "0", refused) is None
