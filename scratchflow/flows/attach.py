"""`attach`: the terminal shows our tmux session, wherever it lives."""

from __future__ import annotations

import shlex
import subprocess

from scratchflow.flows.anywhere import Caller, Cluster, cluster_of, is_login_host
from scratchflow.flows.pointing import places_of
from scratchflow.flows.wishes import Nothing
from scratchflow.model.events import Emit
from scratchflow.model.results import Attached, SessionReady


def attach(caller: Caller, emit: Emit, *, run: bool) -> Attached:
    """Makes sure that there is a session, then shows it until the user leaves it.

    Without `run` the command is only told: for a program that has no terminal to give.
    """
    with cluster_of(caller.settings(), caller, emit) as cluster:
        ready = cluster.on_login("session", Nothing(), SessionReady)
        command = _command(cluster, ready)
    exit_code = subprocess.call(command) if run else None
    return Attached(session=ready.session, host=ready.host, command=command, ended_with=exit_code)


def _command(cluster: Cluster, ready: SessionReady) -> list[str]:
    """What a terminal of this machine runs. ssh hands its command to a shell, hence the quoting."""
    settings = cluster.settings
    is_login = is_login_host(settings, cluster.caller.environment)
    if is_login and ready.is_here:
        return ready.argv
    ssh = ["ssh", *places_of(settings).ssh_options, "-t"]
    if is_login:
        return [*ssh, ready.host, shlex.join(ready.argv)]
    way = [settings.profile.login] if ready.is_here else ["-J", settings.profile.login, ready.host]
    return [*ssh, *way, shlex.join(ready.argv)]
