"""What carries a command to the node, and the window of one that is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.cluster.tmux.server import Tmux
from scratchflow.config.settings import Asked, load_settings
from scratchflow.login import host, run
from scratchflow.login.host import LoginHost
from scratchflow.login.run import carrier, run_detached
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.requests import CarrierOf, RunDetached
from scratchflow.process.far_words import terminal_argv
from tests.cluster.minicluster import retry_until
from tests.unit.cluster.tmux.conftest import socket, tmux

__all__ = ["socket", "tmux"]

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
HELD = RunningAllocation(job_id=7, name="n", state="running", nodes=("node-1",))


def login_host(tmp_path: Path, profile: str) -> LoginHost:
    file = tmp_path / "config.toml"
    file.write_text('[profiles.here]\nscheduler = "none"\n[profiles.aws]\nlogin = "local"\n')
    settings = load_settings(Asked(config=str(file), profile=profile), {})
    return LoginHost(settings, {**os.environ, "HOME": str(tmp_path)}, lambda _: None)


def test_a_step_of_the_job_carries_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "require_allocation", lambda *_: HELD)
    monkeypatch.setattr(run, "steps_overlap", lambda _: True)
    found = carrier(login_host(tmp_path, "aws"), CarrierOf())
    assert (found.job_id, found.node, found.quotes) == (7, "node-1", False)
    assert {"--overlap", "--jobid=7", "--nodelist=node-1"} <= set(found.argv)
    assert "--pty" in found.terminal_argv
    assert "--pty" not in found.argv
    assert "--unbuffered" not in found.argv
    frames = carrier(login_host(tmp_path, "aws"), CarrierOf(unbuffered=True))
    assert "--unbuffered" in frames.argv


def test_ssh_carries_it_where_steps_cannot_overlap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "require_allocation", lambda *_: HELD)
    monkeypatch.setattr(run, "steps_overlap", lambda _: False)
    monkeypatch.setattr(run, "know_node", lambda *_: None)
    found = carrier(login_host(tmp_path, "aws"), CarrierOf())
    assert found.quotes
    assert found.argv[0] == found.terminal_argv[0] == "ssh"
    assert ("-T" in found.argv, "-tt" in found.terminal_argv) == (True, True)
    assert "SLURM_JOB_ID=7" in found.argv[-1]


def test_without_a_session_there_is_no_node(
    tmp_path: Path, tmux: Tmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host.LoginHost, "tmux", tmux)
    with pytest.raises(AllocationMissing):
        carrier(login_host(tmp_path, "here"), CarrierOf())


def test_a_detached_command_gets_a_window_of_our_session(
    tmp_path: Path, tmux: Tmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host.LoginHost, "tmux", tmux)
    tmux.ensure("here", "work", ["sleep", "1000"])
    command = [b"sh", b"-c", b"echo 'a  b;' > said; sleep 5"]
    argv = tuple(terminal_argv(os.fsencode(tmp_path), b"", command))
    login = login_host(tmp_path, "here")
    windows = [run_detached(login, RunDetached(argv=argv, program="sh")) for _ in range(2)]
    assert [(one.session, one.window) for one in windows] == [("work", "sh"), ("work", "sh-2")]
    said = tmp_path / "said"
    retry_until(lambda: said.exists() and said.read_text() == "a  b;\n", "it has run")
