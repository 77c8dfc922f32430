"""`attach`: the terminal shows our tmux session, wherever it lives."""

from __future__ import annotations

import shlex
import subprocess

from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of, is_login_host
from scratchflow.flows.alias import places_of
from scratchflow.flows.current_work import behind_warning
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.events import Emit, Log
from scratchflow.model.requests import Session
from scratchflow.model.results.run import Attached, SessionReady

_ASK_S = 20.0
_SSH_FAILED = 255


def attach(caller: Caller, emit: Emit, *, run: bool) -> Attached:
    """Makes sure that there is a session, then shows it until the user leaves it.

    Without `run` the command is only told: for a program that has no terminal to give.
    """
    with cluster_of(caller.settings(), caller, emit) as cluster:
        ready = cluster.on_login("session", Session(), SessionReady)
        if run and not ready.is_here and not _is_alive(cluster, ready):
            message = f"there is no session on `{ready.host}` any more; opening one here"
            emit(Log(level="info", message=message))
            ready = cluster.on_login("session", Session(rebuild=True), SessionReady)
        command = _command(cluster, ready, ready.argv)
    if ready.newest:
        emit(behind_warning(ready.base, ready.newest))
    if run:
        _show(command, ready)
    return Attached(session=ready.session, host=ready.host, command=command, ran=run)


def _is_alive(cluster: Cluster, ready: SessionReady) -> bool:
    """Whether the other login host still has it; one that cannot be reached has not."""
    ask = ["tmux", "-L", "scratchflow", "has-session", "-t", f"={ready.session}"]
    command = _command(cluster, ready, ask)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _show(command: list[str], ready: SessionReady) -> None:
    code = subprocess.call(command)
    if code == _SSH_FAILED:
        raise ConnectionLost(host=ready.host, reason="ssh could not get there, or was cut off")
    if code != 0:
        raise TmuxFailed(host=ready.host, reason=f"tmux ended with {code}")


def _command(cluster: Cluster, ready: SessionReady, argv: list[str]) -> list[str]:
    """What a terminal of this machine runs. ssh hands its command to a shell, hence the quoting."""
    settings = cluster.settings
    is_login = is_login_host(settings, cluster.caller.environment)
    if is_login and ready.is_here:
        return argv
    ssh = ["ssh", *places_of(settings).ssh_options, "-t"]
    there = f"{ready.user}@{ready.host}"
    if is_login:
        return [*ssh, "--", there, shlex.join(argv)]
    login = settings.profile.login
    way = ["--", login] if ready.is_here else ["-J", login, "--", there]
    return [*ssh, *way, shlex.join(argv)]
