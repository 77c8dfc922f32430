"""Logging in with the real ssh over commands that stand in for hosts: each failure says why."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.ssh import AuthNeeded, ConnectionLost
from scratchflow.process.child import Children
from scratchflow.process.interrupted import Interrupted
from scratchflow.process.waiting import looks
from scratchflow.ssh.config.resolve import ResolvedHost, resolve
from scratchflow.ssh.transport import openssh_login
from scratchflow.ssh.transport.openssh_login import log_in

SHARING = ["-o", "ControlMaster=no", "-o", "ControlPath=none"]


def host_behind(tmp_path: Path, command: str) -> tuple[list[str], ResolvedHost]:
    """A host that ssh reaches with this command, and the options for it."""
    config = tmp_path / "config"
    config.write_text(f"Host login\n  ProxyCommand {command}\n  ConnectTimeout 30\n")
    return ["-F", str(config), "-o", "BatchMode=yes"], resolve("login", config=config)


def test_a_hop_that_refuses_is_told_in_its_own_words(tmp_path: Path) -> None:
    options, host = host_behind(tmp_path, "sh -c 'echo the gate is shut >&2; exit 1'")
    with pytest.raises(ConnectionLost, match="the gate is shut"):
        log_in(options, SHARING, host, os.environ, interactive=False)


def test_what_is_no_ssh_server_is_a_lost_connection(tmp_path: Path) -> None:
    options, host = host_behind(tmp_path, "printf 'HTTP/1.0 400\\r\\n\\r\\n'")
    with pytest.raises(ConnectionLost):
        log_in(options, SHARING, host, os.environ, interactive=False)


@pytest.mark.slow
@pytest.mark.parametrize(("interactive", "error"), [(False, ConnectionLost), (True, AuthNeeded)])
def test_a_host_that_never_answers_is_given_up_and_its_ssh_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interactive: bool, error: type[Exception]
) -> None:
    for limit in ("LOGIN_TIMEOUT_S", "INTERACTIVE_TIMEOUT_S"):
        monkeypatch.setattr(openssh_login, limit, 0.3)
    note = tmp_path / "pid"
    options, host = host_behind(tmp_path, f"sh -c 'echo $PPID > {note}; exec sleep 60'")
    with pytest.raises(error):
        log_in(options, SHARING, host, os.environ, interactive=interactive)
    if note.exists() and note.read_text():
        with pytest.raises(ProcessLookupError):
            os.kill(int(note.read_text()), 0)


def test_an_exit_code_of_the_host_itself_is_no_failure_of_ssh(tmp_path: Path) -> None:
    """A login shell that ends with an error of its own still let us in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").write_text("#!/bin/sh\nexit 3\n")
    (folder / "ssh").chmod(0o755)
    host = ResolvedHost("login", "login.example", "ada")
    log_in([], [], host, {"PATH": f"{folder}:/usr/bin:/bin"}, interactive=False)


def test_a_login_is_ended_when_its_thread_is_given_up_on(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    options, host = host_behind(tmp_path, f"sh -c 'echo $PPID > {note}; exec sleep 600'")
    children = Children()

    def login() -> None:
        try:
            with children.of_this_thread():
                log_in(options, SHARING, host, os.environ, interactive=False)
        except (ScratchflowError, Interrupted):
            return

    thread = threading.Thread(target=login, daemon=True)
    thread.start()
    for _ in looks(30.0, 0.05):
        if note.exists():
            break
    children.end()
    thread.join(15.0)
    assert not thread.is_alive()
