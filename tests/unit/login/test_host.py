"""What the login host has there: notes about sessions never stop a flow, and only names get out of them."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.cluster.tmux.host import SessionNote, note_session
from scratchflow.config.settings import Asked, given_settings, load_settings
from scratchflow.login.host import LoginHost
from scratchflow.login.session import ready_session
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.model.events import Event, Warned
from scratchflow.model.requests import Session
from scratchflow.workspace.job_scratch import JobScratch, note_scratch


def login_host(home: Path, said: list[Event] | None = None, **environment: str) -> LoginHost:
    emit = (lambda _: None) if said is None else said.append
    return LoginHost(load_settings(Asked(), {}), {"HOME": str(home), **environment}, emit)


def test_the_accounts_shell_is_used_unless_it_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = pwd.getpwuid(os.getuid())
    assert login_host(tmp_path).user == account.pw_name
    for shell, used in (("/bin/sh", "/bin/sh"), ("/no/zsh", "/bin/sh"), ("", "/bin/sh")):
        fields: list[Any] = [*account[:6], shell]
        monkeypatch.setattr(pwd, "getpwuid", lambda _, fields=fields: pwd.struct_passwd(fields))
        assert login_host(tmp_path).shell == used


def test_the_session_of_this_host_is_not_elsewhere(tmp_path: Path) -> None:
    login = login_host(tmp_path)
    assert login.session_elsewhere() is None
    login.note_session("work")
    assert login.session_elsewhere() is None
    other = SessionNote(host="login2.example", session="work")
    note_session(tmp_path, login.settings.name, other)
    assert login.session_elsewhere() == other
    login.forget_session()
    assert login.session_elsewhere() is None


@pytest.mark.parametrize(
    ("host", "session"),
    [("-oProxyCommand=x", "s"), ("a b", "s"), ("none", "s"), ("login2", "s;id"), ("login2", "=x")],
)
def test_a_note_that_is_no_name_never_reaches_ssh_or_tmux(
    tmp_path: Path, host: str, session: str
) -> None:
    login = login_host(tmp_path)
    note_session(tmp_path, login.settings.name, SessionNote(host=host, session=session))
    assert login.session_elsewhere() is None


def test_a_home_that_cannot_be_written_costs_a_warning(tmp_path: Path) -> None:
    said: list[Event] = []
    (tmp_path / ".local").write_text("in the way")
    login = login_host(tmp_path, said)
    login.note_session("work")
    assert login.session_elsewhere() is None
    (warning,) = said
    assert isinstance(warning, Warned)
    assert warning.code == "tmux.not_noted"
    assert str(tmp_path) in warning.message


def test_a_tmux_is_looked_for_on_the_path_that_was_given(tmp_path: Path) -> None:
    assert not login_host(tmp_path, PATH=str(tmp_path)).has_tmux
    (tmp_path / "tmux").write_text("#!/bin/sh\n")
    (tmp_path / "tmux").chmod(0o755)
    assert login_host(tmp_path, PATH=str(tmp_path)).has_tmux


def test_a_scratch_of_the_job_is_a_path_once_it_is_noted_and_as_written_before(
    tmp_path: Path,
) -> None:
    settings = given_settings("aws", {"scratch": "$SLURM_TMPDIR"}, "a test")
    here = LoginHost(settings, {"HOME": str(tmp_path), "SLURM_TMPDIR": "/other"}, lambda _: None)
    held = RunningAllocation(job_id=7, name="x", state="running", nodes=("n1",))
    assert str(here.workspace_of(held).path) == "$SLURM_TMPDIR/work"
    assert here.start_directory(held) == ""
    found = JobScratch(job_id=7, node="n1", written="$SLURM_TMPDIR", path="/local7")
    note_scratch(tmp_path, "aws", found)
    assert here.start_directory(held) == "/local7/work"
    assert here.start_directory(None) == ""


def test_inside_the_job_its_own_environment_says_where_scratch_is(tmp_path: Path) -> None:
    settings = given_settings("aws", {"scratch": "$SLURM_TMPDIR"}, "a test")
    inside = {"HOME": str(tmp_path), "SLURM_TMPDIR": "/local7", "SLURM_JOB_ID": "7"}
    here = LoginHost(settings, inside, lambda _: None)
    held = RunningAllocation(job_id=7, name="x", state="running", nodes=("n1",))
    assert here.start_directory(held) == "/local7/work"
    other = RunningAllocation(job_id=8, name="x", state="running", nodes=("n2",))
    assert here.start_directory(other) == ""


def test_a_node_in_the_place_of_the_login_host_gets_no_tmux_server(tmp_path: Path) -> None:
    """It would stay there when the job goes, where nobody looks for it."""
    (tmp_path / "tmux").touch(mode=0o755)
    inside = msgspec.structs.replace(
        login_host(tmp_path, PATH=str(tmp_path), SLURMD_NODENAME="node-1", SLURM_JOB_ID="7"),
        settings=given_settings("aws", {"login": "aws"}, "the test"),
    )
    assert not inside.has_tmux
    with pytest.raises(TmuxFailed, match="compute node"):
        ready_session(inside, Session(rebuild=True))
