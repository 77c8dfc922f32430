"""`session`: the one on this host, opened again where it was lost, or the way to another host's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.cluster.tmux.host import SessionNote, note_session
from scratchflow.cluster.tmux.server import Tmux
from scratchflow.config.settings import Asked, load_settings
from scratchflow.login import host, session
from scratchflow.login.host import LoginHost
from scratchflow.login.session import ready_session
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.errors.slurm import TmuxInJob
from scratchflow.model.events import Event, Warned
from scratchflow.model.requests import Session
from scratchflow.process.waiting import looks
from tests.unit.cluster.tmux.conftest import socket, tmux

__all__ = ["socket", "tmux"]

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def login(tmp_path: Path, tmux: Tmux, monkeypatch: pytest.MonkeyPatch) -> LoginHost:
    monkeypatch.setattr(host.LoginHost, "tmux", tmux)
    file = tmp_path / "config.toml"
    file.write_text('[profiles.here]\nscheduler = "none"\n[profiles.aws]\nlogin = "local"\n')
    settings = load_settings(Asked(config=str(file), profile="here"), {})
    environment = {**os.environ, "HOME": str(tmp_path)}
    return LoginHost(settings, environment, lambda _: None)


def of_profile(login: LoginHost, name: str) -> LoginHost:
    settings = load_settings(Asked(config=str(login.settings.path), profile=name), {})
    return LoginHost(settings, login.environment, login.emit)


def test_without_a_session_there_is_nothing_to_attach_to(login: LoginHost) -> None:
    with pytest.raises(AllocationMissing):
        ready_session(login, Session())


def test_the_session_of_one_machine_is_shown_as_it_is(login: LoginHost) -> None:
    login.tmux.ensure("here", "work", ["sleep", "1000"])
    ready = ready_session(login, Session())
    assert (ready.session, ready.is_here, ready.user) == ("work", True, login.user)
    assert ready.argv[-3:] == ["attach-session", "-t", "=work"]


def test_within_a_job_it_is_said_where_to_type_it(login: LoginHost) -> None:
    aws = of_profile(login, "aws")
    inside = LoginHost(aws.settings, {**aws.environment, "SLURMD_NODENAME": "node-1"}, aws.emit)
    with pytest.raises(TmuxInJob) as caught:
        ready_session(inside, Session())
    assert "install tmux" not in caught.value.shown_hint
    assert "on your laptop or on the login host" in caught.value.shown_hint


def test_a_lost_session_is_opened_again_and_noted(
    login: LoginHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = of_profile(login, "aws")
    held = RunningAllocation(job_id=7, name="n", state="running", nodes=("node-1",))
    monkeypatch.setattr(session, "require_allocation", lambda *_: held)
    monkeypatch.setattr(session, "steps_overlap", lambda _: True)
    ready = ready_session(aws, Session())
    assert ready.is_here
    assert aws.tmux.session("aws") == ready.session
    assert aws.session_elsewhere() is None


def test_a_node_whose_copy_is_not_the_newest_is_told_with_both_snapshots(
    login: LoginHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = of_profile(login, "aws")
    held = RunningAllocation(job_id=7, name="n", state="running", nodes=("node-1",))
    monkeypatch.setattr(session, "require_allocation", lambda *_: held)
    monkeypatch.setattr(session, "steps_overlap", lambda _: True)
    monkeypatch.setattr(session, "warm_nodes", lambda *_: {"node-1": "a"})
    monkeypatch.setattr(session, "newest_not", lambda *_: "b")
    ready = ready_session(aws, Session())
    assert (ready.base, ready.newest) == ("a", "b")
    monkeypatch.setattr(session, "newest_not", lambda *_: "")
    ready = ready_session(aws, Session())
    assert (ready.base, ready.newest) == ("", "")


def test_one_that_lives_on_another_login_host_is_led_to_unless_it_is_to_be_rebuilt(
    login: LoginHost,
) -> None:
    note_session(login.home, "here", SessionNote(host="login2.example", session="work"))
    ready = ready_session(login, Session())
    assert (ready.host, ready.is_here, ready.argv[-1]) == ("login2.example", False, "=work")
    with pytest.raises(AllocationMissing):
        ready_session(login, Session(rebuild=True))


def _with_layers(login: LoginHost, place: Path, layers: str, events: list[Event]) -> LoginHost:
    """A profile without a cluster, whose shell has an environment."""
    (place / "scratch/work").mkdir(parents=True, mode=0o700)
    login.settings.path.write_text(
        f'[profiles.here]\nscheduler = "none"\nscratch = "{place}/scratch"\nstore = "{place}/store"\n'
        f"[profiles.here.environment]\n{layers}\n"
    )
    found = of_profile(login, "here")
    return LoginHost(found.settings, found.environment, events.append)


def _says(login: LoginHost, asked: str, answer: str) -> bool:
    """Whether the session's shell prints this."""
    pane = login.tmux.pane("here")
    assert pane is not None
    login.tmux._cmd("send-keys", "-t", pane.pane_id, asked, "Enter")
    return any(answer in login.tmux.text(pane) for _ in looks(20, 0.05))


def test_the_shell_has_the_profile_s_environment(login: LoginHost, tmp_path: Path) -> None:
    here = _with_layers(login, tmp_path, 'variables = { CCACHE_DIR = "$HOME/c" }', [])
    here.tmux.ensure("here", "work", ["/bin/sh", "-l"])
    ready_session(here, Session())  # nobody has looked at that shell: it is started again
    assert _says(here, "echo =$CCACHE_DIR=", f"={tmp_path}/c=")


def test_a_layer_that_fails_is_a_warning_because_it_takes_a_shell_to_mend_it(
    login: LoginHost, tmp_path: Path
) -> None:
    events: list[Event] = []
    here = _with_layers(login, tmp_path, 'prologue = "echo no licence; false"', events)
    here.tmux.ensure("here", "work", ["/bin/sh", "-l"])
    ready_session(here, Session())
    (warned,) = [event for event in events if isinstance(event, Warned)]
    assert warned.code == "environment.layer_failed"
    assert "no licence" in warned.message
    assert _says(here, "echo $((40 + 2))", "42")


def test_a_shell_that_goes_on_asks_for_no_environment(login: LoginHost, tmp_path: Path) -> None:
    log = tmp_path / "log"
    here = _with_layers(login, tmp_path, f'prologue = "echo x >> {log}"', [])
    here.tmux.ensure("here", "work", ["sh", "-c", "exec sleep 1000 # salloc"])  # it holds a job
    ready_session(here, Session())
    assert not log.exists()
