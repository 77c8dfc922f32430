"""`attach` runs what shows the session, quoted for the shell of its host, wherever that is."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.flows import attach as module
from scratchflow.flows.attach import attach
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.events import Log, Warned
from scratchflow.model.requests import Session
from scratchflow.model.results.run import SessionReady
from tests.unit.flows.told import ToldCluster, give

ARGV = ["tmux", "-L", "scratchflow", "attach-session", "-t", "=it's; work"]
HERE = SessionReady(session="it's; work", host="login1", is_here=True, argv=ARGV, user="ada")
ELSEWHERE = SessionReady(session="it's; work", host="login2", is_here=False, argv=ARGV, user="ada")


def cluster_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *ready: SessionReady, login: str = "aws"
) -> ToldCluster:
    cluster = ToldCluster(tmp_path, {"session": list(ready)}, profile=f'login = "{login}"')
    return give(monkeypatch, module, cluster)


@pytest.mark.parametrize(
    ("login", "ready", "way"),
    [
        ("aws", HERE, ["--", "aws"]),
        ("aws", ELSEWHERE, ["-J", "aws", "--", "ada@login2"]),
        ("local", ELSEWHERE, ["--", "ada@login2"]),
    ],
)
def test_over_ssh_the_command_is_one_quoted_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, login: str, ready: SessionReady, way: list[str]
) -> None:
    cluster = cluster_with(tmp_path, monkeypatch, ready, login=login)
    done = attach(cluster.caller, cluster.emit, run=False)
    assert done.command[0] == "ssh"
    assert done.command[-len(way) - 1 : -1] == way
    assert shlex.split(done.command[-1]) == ARGV
    assert not done.ran


def test_on_its_own_host_tmux_is_run_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = cluster_with(tmp_path, monkeypatch, HERE, login="local")
    assert attach(cluster.caller, cluster.emit, run=False).command == ARGV


def test_a_copy_that_is_not_the_newest_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind = msgspec.structs.replace(HERE, base="a", newest="b")
    cluster = cluster_with(tmp_path, monkeypatch, behind)
    attach(cluster.caller, cluster.emit, run=False)
    (warning,) = cluster.told
    assert isinstance(warning, Warned)
    assert "from snapshot a, and the newest is b" in warning.message


def programs(folder: Path, monkeypatch: pytest.MonkeyPatch, ssh: str) -> None:
    folder.mkdir()
    (folder / "ssh").write_text(f"#!/bin/sh\n{ssh}\n")
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize(("code", "error"), [(255, ConnectionLost), (1, TmuxFailed)])
def test_how_it_ended_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, error: type[ScratchflowError]
) -> None:
    programs(tmp_path / "bin", monkeypatch, f"exit {code}")
    cluster = cluster_with(tmp_path, monkeypatch, HERE)
    with pytest.raises(error, match="login1"):
        attach(cluster.caller, cluster.emit, run=True)


def test_a_session_that_is_gone_with_its_host_is_opened_again_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path / "bin", monkeypatch, 'case "$*" in *has-session*) exit 255;; esac; exit 0')
    cluster = cluster_with(tmp_path, monkeypatch, ELSEWHERE, HERE)
    done = attach(cluster.caller, cluster.emit, run=True)
    assert (done.host, done.ran) == ("login1", True)
    assert [request for _, request, _ in cluster.asked] == [Session(), Session(rebuild=True)]
    remarks: list[Any] = [event for event in cluster.told if isinstance(event, Log)]
    assert "login2" in remarks[0].message


def test_one_that_lives_elsewhere_is_not_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path / "bin", monkeypatch, "exit 0")
    cluster = cluster_with(tmp_path, monkeypatch, ELSEWHERE)
    assert attach(cluster.caller, cluster.emit, run=True).host == "login2"
