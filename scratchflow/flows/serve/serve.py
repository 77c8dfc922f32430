"""`serve`, `serve list` and `serve stop`: servers on the node, and where this machine has them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.flows.serve.browser import open_in_browser
from scratchflow.flows.serve.clipboard import copy_text
from scratchflow.flows.serve.local_tunnels import (
    TunnelRecord,
    end_tunnel,
    end_tunnels,
    read_tunnels,
)
from scratchflow.flows.serve.tunnel import (
    WantedTunnel,
    address,
    open_tunnel,
    shown_tunnel,
    usual_port,
)
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.serve import ServerMissing
from scratchflow.model.events import Emit, Progress, Warned
from scratchflow.model.requests import NOTHING, StartServer, StopServers
from scratchflow.model.results.serve import (
    ServersListed,
    ServersSeen,
    ServersStopped,
    ServerStarted,
    Serving,
)
from scratchflow.model.results.status import ServerShown, TunnelShown


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What happens on this machine once the server answers."""

    tunnel: bool = True
    local_port: int = 0
    open_browser: bool = False
    copy: bool = False


def serve(caller: Caller, emit: Emit, request: StartServer, options: ServeOptions) -> Serving:
    """Starts the server on the node, opens a tunnel to it, and the browser if that is wanted."""
    with cluster_of(caller.settings(), caller, emit) as cluster:
        started = cluster.on_login("server start", request, ServerStarted)
    server = started.server
    if request.dry_run or not options.tunnel:
        return Serving(server=server, changed=started.changed, dry_run=request.dry_run)
    wanted = WantedTunnel(
        server=server.name, local_port=options.local_port, usual_port=usual_port(server.kind)
    )
    opened = open_tunnel(caller, emit, wanted)
    url = address(opened.tunnel, started.page, started.token)
    is_open = options.open_browser and open_in_browser(url, emit)
    is_copied = options.copy and copy_text(url, emit)
    shown = msgspec.structs.replace(server, url=url)
    return Serving(server=shown, url=url, changed=started.changed, opened=is_open, copied=is_copied)


def list_servers(caller: Caller, emit: Emit) -> ServersListed:
    """What runs on the node, with the addresses of this machine, and its other tunnels."""
    settings = caller.settings()
    with cluster_of(settings, caller, emit) as cluster:
        seen = cluster.on_login("server list", NOTHING, ServersSeen)
    tunnels = read_tunnels(settings.name)
    servers = with_addresses(tunnels, seen.servers, seen.pages, seen.tokens)
    return ServersListed(servers=servers, tunnels=other_tunnels(tunnels, servers))


def other_tunnels(
    tunnels: Sequence[TunnelRecord], servers: Sequence[ServerShown]
) -> list[TunnelShown]:
    """Those that lead to none of the servers."""
    names = {server.name for server in servers}
    return [shown_tunnel(one) for one in tunnels if one.server not in names]


def with_addresses(
    here: Sequence[TunnelRecord],
    servers: Sequence[ServerShown],
    pages: dict[str, str],
    tokens: dict[str, str],
) -> list[ServerShown]:
    """The servers with the addresses that this machine has for them."""
    tunnels = {one.server: one for one in here if one.server}
    found = []
    for server in servers:
        tunnel = tunnels.get(server.name)
        if tunnel is None:
            found.append(server)
            continue
        url = address(shown_tunnel(tunnel), pages.get(server.name, ""), tokens.get(server.name, ""))
        found.append(msgspec.structs.replace(server, url=url, problem=tunnel.problem))
    return found


def stop_servers(caller: Caller, emit: Emit, request: StopServers) -> ServersStopped:
    """Ends servers, and the tunnels of this machine that lead to them; or a tunnel that leads elsewhere."""
    settings = caller.settings()
    tunnels = {one.name: one for one in read_tunnels(settings.name)}
    with cluster_of(settings, caller, emit) as cluster:
        seen = cluster.on_login("server list", NOTHING, ServersSeen)
        served = {server.name for server in seen.servers}
        for name in request.names:
            if name not in served and name not in tunnels:
                raise ServerMissing(name=name)
        names = tuple(name for name in request.names if name in served)
        wanted = msgspec.structs.replace(request, names=names)
        stopped: list[str] = []
        if names or (request.every and served):
            if not request.dry_run:
                emit(Progress(phase="ending what is served"))
            stopped = cluster.on_login("server stop", wanted, ServersStopped).stopped
    ended = [name for name in tunnels if request.every or name in request.names]
    if not request.dry_run:
        for name in ended:
            end_tunnel(settings.name, tunnels[name])
    return ServersStopped(stopped=stopped, tunnels=ended, dry_run=request.dry_run)


def end_all(cluster: Cluster) -> None:
    """What `clear` ends: without a scheduler no job takes the servers along."""
    if cluster.settings.profile.scheduler == "none":
        cluster.on_login("server stop", StopServers(every=True), ServersStopped)
    end_tunnels(cluster.settings.name)


def start_again(cluster: Cluster, job_id: int | None, emit: Emit) -> list[str]:
    """What `hop` does: the servers on the new node, under the same names; which ones.

    One that does not start there is told, and holds nothing up.
    """
    try:
        seen = cluster.on_login("server list", NOTHING, ServersSeen)
    except ScratchflowError as error:
        emit(Warned(code=error.code, message=f"servers do not move: {error}"))
        return []
    moved = []
    for server in seen.servers:
        if server.ended or server.job_id in {None, job_id}:
            continue
        request = StartServer(name=server.name, job_id=job_id)
        try:
            cluster.on_login("server start", request, ServerStarted)
            moved.append(server.name)
        except ScratchflowError as error:
            message = f"`{server.name}` does not run on the new node: {error}"
            emit(Warned(code=error.code, message=message))
    return moved
