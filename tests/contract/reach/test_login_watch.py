"""An agent on the login host that stands still on a living connection is given up, and ends when it can."""

from __future__ import annotations

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from scratchflow import __version__
from scratchflow.agent.request import asking
from scratchflow.model.errors.agent import AgentSilent
from scratchflow.reach import login, watch
from scratchflow.reach.login import ask_once
from scratchflow.reach.login_watch import LoginWatch
from tests.contract.ssh.lab import Lab

SOON_S = 60
# A plain ssh is still logging in when these watches expect its first word.
KINDS = pytest.mark.parametrize("kind", ["paramiko", "openssh"])
# Speaks as an agent does, and notices the end of its input as one does.
AGENT = f"""
import os, signal, socket, sys, time
from pathlib import Path
from scratchflow.agent.server import hang_up_at_end_of
def say(line):
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()
def wait():
    while True:  # in short pieces: a signal that comes just before a sleep is heard after it
        time.sleep(0.05)
def end(*_):
    Path(sys.argv[2]).write_text("ended")
    os._exit(129)
signal.signal(signal.SIGHUP, end)
sys.stdin.readline()
hang_up_at_end_of(0)
common = '"v":1,"ts":"2026-11-16T10:00:00.000Z","op":"look"'
if sys.argv[1] == "mute":
    wait()
say('{{' + common + ',"seq":0,"type":"hello","version":"{__version__}","pid":%d,"host":"%s","role":"login"}}'
    % (os.getpid(), socket.gethostname()))
if sys.argv[1] == "stops":
    Path(sys.argv[2] + ".pid").write_text(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGSTOP)
    wait()
time.sleep(1.5)
say('{{' + common + ',"seq":1,"type":"summary","data":{{"was":"slow"}},"warnings":0,"exit_code":0}}')
"""
REQUEST = asking("look", {}, profile_name="p", profile={})


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "LoginWatch", partial(LoginWatch, silent_s=0.1, probe_s=10))


def let_answer(monkeypatch: pytest.MonkeyPatch, how: str, note: Path) -> None:
    command = [sys.executable, "-c", AGENT, how, str(note)]
    monkeypatch.setattr(login, "agent_command", lambda: command)


def wait_for(path: Path) -> str:
    until = time.monotonic() + SOON_S
    while not path.exists():
        assert time.monotonic() < until, f"no {path.name}"
        time.sleep(0.05)
    return path.read_text()


@KINDS
def test_an_agent_that_was_stopped_is_given_up_and_ends_when_it_goes_on(
    kind: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "note"
    let_answer(monkeypatch, "stops", note)
    with lab.transport(kind, "login") as far, pytest.raises(AgentSilent) as caught:
        ask_once(far, REQUEST, lambda _: None)
    pid = int(wait_for(tmp_path / "note.pid"))
    assert caught.value.exit_code == 14
    assert f"stopped (by a signal, or by the host), process {pid}" in str(caught.value)
    assert f"`ssh login kill -CONT {pid}`" in caught.value.shown_hint
    assert not note.exists()
    os.kill(pid, signal.SIGCONT)
    assert wait_for(note) == "ended"


@KINDS
def test_the_connection_of_an_agent_that_was_given_up_is_used_again(
    kind: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_answer(monkeypatch, "stops", tmp_path / "note")
    with lab.transport(kind, "login") as far:
        with pytest.raises(AgentSilent):
            ask_once(far, REQUEST, lambda _: None)
        os.kill(int(wait_for(tmp_path / "note.pid")), signal.SIGCONT)
        let_answer(monkeypatch, "works", tmp_path / "note")
        assert ask_once(far, REQUEST, lambda _: None) == {"was": "slow"}


@KINDS
def test_an_agent_that_is_only_slow_is_waited_for(
    kind: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_answer(monkeypatch, "works", tmp_path / "note")
    monkeypatch.setattr(watch, "ENOUGH", 2)
    with lab.transport(kind, "login") as far:
        assert ask_once(far, REQUEST, lambda _: None) == {"was": "slow"}


@KINDS
def test_an_agent_that_never_says_a_word_is_given_up_and_not_replaced(
    kind: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_answer(monkeypatch, "mute", tmp_path / "note")
    with lab.transport(kind, "login") as far, pytest.raises(AgentSilent) as caught:
        ask_once(far, REQUEST, lambda _: None)
    assert "it has not said a word yet" in str(caught.value)
    assert wait_for(tmp_path / "note") == "ended"


def test_a_watch_that_speaks_once_a_minute_is_not_looked_after_in_between(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[LoginWatch] = []

    def look(one: LoginWatch) -> watch.Seen:
        looks.append(one)
        return watch.WELL

    monkeypatch.setattr(LoginWatch, "_look", look)
    let_answer(monkeypatch, "works", tmp_path / "note")
    with lab.transport("paramiko", "login") as far:
        ask_once(far, REQUEST, lambda _: None)
        assert looks
        looks.clear()
        ask_once(far, asking("watch", {}, profile_name="p", profile={}), lambda _: None)
    assert looks == []
