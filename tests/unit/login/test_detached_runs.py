"""A command that `run --detach` left is ended or named when the session or the node goes."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from scratchflow.cluster.tmux.server import Tmux
from scratchflow.login import host
from scratchflow.login.detached_runs import end_runs_here
from scratchflow.login.run import run_detached
from scratchflow.model.events import Event, Warned
from scratchflow.model.requests import RunDetached
from scratchflow.process.far_words import terminal_argv
from scratchflow.process.session import processes_of_sessions
from tests.unit.cluster.tmux.conftest import retry_until, socket, tmux
from tests.unit.login.test_run import login_host

__all__ = ["socket", "tmux"]
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("heeds", [True, False])
@pytest.mark.slow
def test_a_command_ends_with_the_session_or_is_named_with_what_ends_it(
    tmp_path: Path, tmux: Tmux, monkeypatch: pytest.MonkeyPatch, heeds: bool
) -> None:
    monkeypatch.setattr(host.LoginHost, "tmux", tmux)
    told: list[Event] = []
    login = msgspec.structs.replace(login_host(tmp_path, "here"), emit=told.append)
    tmux.ensure("here", "work", ["sleep", "1000"])
    started = tmp_path / "started"
    script = f"{'' if heeds else 'trap : HUP; '}echo > {started}; while :; do sleep 600; done"
    argv = terminal_argv(os.fsencode(tmp_path), b"", [b"sh", b"-c", os.fsencode(script)])
    window = run_detached(login, RunDetached(argv=tuple(argv), program="sh")).window
    retry_until(started.exists)
    (pane,) = tmux.detached("here")
    assert (pane.window, pane.run) == (window, "here")
    assert end_runs_here(login)
    left = sorted(processes_of_sessions({pane.pid}))
    for pid in left:
        os.kill(pid, 9)
    messages = [event.message for event in told if isinstance(event, Warned)]
    assert bool(left) is not heeds
    if heeds:
        assert messages == []
    else:
        numbers = " ".join(map(str, left))
        assert f"window `{window}` goes on" in messages[0]
        assert f"`kill {numbers}` ends it" in messages[0]
