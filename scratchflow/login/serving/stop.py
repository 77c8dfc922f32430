"""`server stop`, on the login host: ends servers, with all that they started."""

from __future__ import annotations

from collections.abc import Sequence

from scratchflow.login.host import LoginHost
from scratchflow.login.serving.look import agent_of, held_jobs, servers_on
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.serve import ServerMissing, ServerStuck
from scratchflow.model.requests import StopServers
from scratchflow.model.results.serve import ServersStopped
from scratchflow.process.waiting import looks
from scratchflow.workspace.servers import ServerRecord, forget_server

STOP_S = 20.0
"""How long a server may take to end before it is killed; then again to be gone."""
_LOOK_S = 0.2


def stop_servers(login: LoginHost, asked: StopServers) -> ServersStopped:
    """Ends these, or all; ServerMissing, before any is ended, for a name that nothing has."""
    jobs = held_jobs(login)
    found = {record.name: record for record in servers_on(login, jobs)}
    for name in asked.names:
        if name not in found:
            raise ServerMissing(name=name)
    chosen = list(found) if asked.every else list(asked.names)
    if not asked.dry_run:
        for name in chosen:
            end_server(login, found[name], jobs)
    return ServersStopped(stopped=chosen, dry_run=asked.dry_run)


def end_server(login: LoginHost, record: ServerRecord, jobs: Sequence[RunningAllocation]) -> None:
    """Asks it to end, and kills it when it does not; then nothing is known of it any more."""
    agent = None if record.ended else agent_of(login, record, jobs)
    if agent is not None:
        for name in ("USR1", "KILL"):
            agent.signal(name)
            if any(agent.runs() is False for _ in looks(STOP_S, _LOOK_S, login.clock)):
                break
        else:
            raise ServerStuck(name=record.name, node=record.node, reason="it does not end")
    forget_server(login.home, record, login.settings.name)
