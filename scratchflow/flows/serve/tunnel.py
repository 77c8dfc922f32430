"""`tunnel`: a local port that leads to the node, kept by a process that outlives the terminal."""

from __future__ import annotations

import fcntl
import os
import re
import select
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from scratchflow.agent.name import own_command
from scratchflow.config.file import PATH_VARIABLE
from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller, cluster_of, is_login_host
from scratchflow.flows.serve.browser import is_in_editor, open_in_browser
from scratchflow.flows.serve.clipboard import copy_text
from scratchflow.flows.serve.former_ports import FormerPort, ports_of_others
from scratchflow.flows.serve.keeper import WORD, Answer, KeptTunnel
from scratchflow.flows.serve.local_tunnels import (
    TunnelRecord,
    end_tunnel,
    read_tunnel,
    read_tunnels,
)
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.by_code import error_from_agent
from scratchflow.model.errors.serve import ServerMissing, TunnelFailed
from scratchflow.model.events import Emit, Log, Progress, Warned
from scratchflow.model.requests import NOTHING
from scratchflow.model.results.serve import ServersSeen, TunnelOpened
from scratchflow.model.results.status import TunnelShown
from scratchflow.reach.tunnel.own_callers import own_callers
from scratchflow.workspace.servers import is_server_name

_READY_S = 120.0
_TRIED_PORTS = 100
_USUAL_PORTS = {"tensorboard": 6006, "jupyter": 8888, "command": 8080}
_HIGH_DESCRIPTOR = 64
_FIRST_OPEN_PORT = 1024


class WantedTunnel(msgspec.Struct, frozen=True, kw_only=True):
    """Where to: a server of ours, a port, or a socket; and from which local port, if that matters."""

    server: str = ""
    port: int = 0
    socket: str = ""
    local_port: int = 0
    # Where to look first, when it does not matter.
    usual_port: int = _USUAL_PORTS["command"]

    @property
    def name(self) -> str:
        """What `serve list` and `serve stop` call it."""
        if self.server:
            return self.server
        if self.port:
            return f"port-{self.port}"
        plain = re.sub(r"[^A-Za-z0-9]+", "-", self.socket).strip("-")
        return f"socket-{plain[-30:]}".strip("-")

    @property
    def to(self) -> str:
        """In words."""
        if self.server:
            return f"`{self.server}`"
        return f"port {self.port}" if self.port else f"`{self.socket}`"


def wanted_tunnel(text: str, local_port: int, command: str) -> WantedTunnel:
    """`8888`, `8888:9999`, `/path/of/socket` or the name of a server, as it is typed."""
    number = re.fullmatch(r"(\d{1,5})(?::(\d{1,5}))?", text, re.ASCII)
    if number:
        port, local = int(number[1]), int(number[2] or local_port)
        _require_port(port, command)
        if number[2]:
            _require_port(local, command)
        return WantedTunnel(port=port, local_port=local, usual_port=port)
    if text.startswith("/"):
        return WantedTunnel(socket=text, local_port=local_port)
    if is_server_name(text):
        return WantedTunnel(server=text, local_port=local_port)
    problem = "what is wanted is a port, `PORT:LOCAL`, the whole path of a socket, or a name of `serve list`"
    raise UsageInvalid(problem=problem, command=command)


def _require_port(port: int, command: str) -> None:
    if not 0 < port < 1 << 16:
        raise UsageInvalid(problem=f"{port} is no port", command=command)


def tunnel(
    caller: Caller,
    emit: Emit,
    wanted: WantedTunnel,
    *,
    open_browser: bool = False,
    copy: bool = False,
    dry_run: bool = False,
) -> TunnelOpened:
    """Opens it; one that is open already is as good. Its address goes to the browser or the clipboard, if that is wanted."""
    opened = _tunnel(caller, emit, wanted, dry_run=dry_run)
    if dry_run:
        return opened
    return msgspec.structs.replace(
        opened,
        opened=open_browser and open_in_browser(opened.url, emit),
        copied=copy and copy_text(opened.url, emit),
    )


def _tunnel(caller: Caller, emit: Emit, wanted: WantedTunnel, *, dry_run: bool) -> TunnelOpened:
    page = token = ""
    other = read_tunnel(caller.settings().name, wanted.name)
    if (
        wanted.server and other is not None and not other.server
    ):  # `port-8888`, as `serve list` calls it
        shown = shown_tunnel(other)
        return TunnelOpened(tunnel=shown, url=address(shown), changed=False, dry_run=dry_run)
    if wanted.server:
        with cluster_of(caller.settings(), caller, emit) as cluster:
            seen = cluster.on_login("server list", NOTHING, ServersSeen)
        kind = next(
            (one.kind for one in seen.servers if one.name == wanted.server and not one.ended), None
        )
        if kind is None:
            raise ServerMissing(name=wanted.server)
        wanted = msgspec.structs.replace(wanted, usual_port=_USUAL_PORTS[kind])
        page, token = seen.pages.get(wanted.server, "/"), seen.tokens.get(wanted.server, "")
    if dry_run:
        local = wanted.local_port or wanted.usual_port
        if other is not None and wanted.local_port not in {0, other.local_port}:
            message = f"{other.url}/ would not lead to {wanted.to} any more"
            emit(Log(level="info", message=message))
        shown = TunnelShown(name=wanted.name, local_port=local, to=wanted.to)
        return TunnelOpened(tunnel=shown, dry_run=True)
    opened = open_tunnel(caller, emit, wanted)
    return msgspec.structs.replace(opened, url=address(opened.tunnel, page, token))


def address(shown: TunnelShown, page: str = "", token: str = "") -> str:
    """What a browser opens; the token goes to Jupyter."""
    secret = f"?token={token}" if token else ""
    return f"http://127.0.0.1:{shown.local_port}{page or '/'}{secret}"


def usual_port(kind: str) -> int:
    """The local port that is tried first for a server of this kind."""
    return _USUAL_PORTS.get(kind, _USUAL_PORTS["command"])


def open_tunnel(caller: Caller, emit: Emit, wanted: WantedTunnel) -> TunnelOpened:
    """The tunnel, leading to the node. TunnelFailed, or what the way there raised, leaves nothing behind."""
    profile = caller.settings().name
    there = read_tunnel(profile, wanted.name)
    if there is not None and wanted.local_port in {0, there.local_port}:
        return TunnelOpened(tunnel=shown_tunnel(there), changed=False)
    if there is not None and not _is_free(wanted.local_port):
        message = f"port {wanted.local_port} of this machine cannot be taken; the tunnel stays at {there.url}/"
        emit(Log(level="info", message=message))
        return TunnelOpened(tunnel=shown_tunnel(there), changed=False)
    emit(Progress(phase=f"opening the tunnel to {wanted.to}"))
    read_tunnels(profile)  # notes the ports of those that were killed
    others = ports_of_others(profile, wanted.name, time.time())
    with _listening(wanted, emit, others) as bound, _high(bound) as listener:
        local_port: int = listener.getsockname()[1]
        if there is not None:
            message = f"{there.url}/ does not lead to {wanted.to} any more: its tunnel has one port, now {local_port}"
            emit(Log(level="info", message=message))
            end_tunnel(profile, there)
        is_ours_alone = own_callers(listener) is not None
        answer = _keeper_started(caller, wanted, listener, profile)
    _raise_what_it_says(answer, wanted)
    if answer.remark:
        emit(Warned(code="tunnel.socket", message=f"{wanted.to} {answer.remark}"))
    _tell_which_machine(caller, wanted, local_port, emit, is_ours_alone=is_ours_alone)
    shown = TunnelShown(name=wanted.name, local_port=local_port, to=wanted.to)
    return TunnelOpened(tunnel=shown, node=answer.node)


def _tell_which_machine(
    caller: Caller, wanted: WantedTunnel, local_port: int, emit: Emit, *, is_ours_alone: bool
) -> None:
    """On a host of the cluster: the port is there and not on the laptop, and how it gets there."""
    settings = caller.settings()
    if settings.profile.scheduler != "slurm" or not is_login_host(settings, caller.environment):
        return
    host = os.uname().nodename
    if not is_ours_alone:
        message = (
            f"every user of `{host}` can open its port {local_port}, as long as the tunnel is open"
        )
        emit(Warned(code="tunnel.shared_host", message=message))
    again = wanted.server or wanted.socket or str(wanted.port)
    message = f"the address is one of `{host}`; on your laptop, `scratchflow tunnel {again}` opens it there"
    if is_in_editor(caller.environment):
        message = f"the address is one of `{host}`; click on it, and VS Code forwards port {local_port} to your machine"
    emit(Log(level="info", message=message))


def shown_tunnel(record: TunnelRecord) -> TunnelShown:
    """The record for people and programs."""
    return TunnelShown(
        name=record.name, local_port=record.local_port, to=record.to, problem=record.problem
    )


def _listening(wanted: WantedTunnel, emit: Emit, others: Mapping[int, FormerPort]) -> socket.socket:
    """The local port: as asked for, else the next free one that led nowhere else, and that is said."""
    first = wanted.local_port or wanted.usual_port
    if first < _FIRST_OPEN_PORT and not wanted.local_port:
        first += 8000
    for port in _ports_to_try(first, {*others} - {wanted.local_port}):
        own = _bound(port)
        if own is None:
            continue
        if port != first:
            message = _why_another(first, own.getsockname()[1], others.get(first))
            emit(Log(level="info", message=message))
        return own
    raise TunnelFailed(to=wanted.to, reason="no port of this machine is free")


def _bound(port: int) -> socket.socket | None:
    """The port, if it is free."""
    own = socket.socket()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        own.bind(("127.0.0.1", port))
        own.listen(128)
    except OSError:
        own.close()
        return None
    return own


def _is_free(port: int) -> bool:
    found = _bound(port)
    if found is None:
        return False
    found.close()
    return True


def _is_forbidden(port: int) -> bool:
    """Whether the system keeps it to itself, as most do with ports below 1024."""
    with socket.socket() as own:
        try:
            own.bind(("127.0.0.1", port))
        except PermissionError:
            return True
        except OSError:
            return False
    return False


def _ports_to_try(first: int, others: set[int]) -> Iterator[int]:
    """From the first on, then any that is free; those that led elsewhere only when there is no other."""
    near = range(first, min(first + _TRIED_PORTS, 1 << 16))
    yield from (port for port in near if port not in others)
    yield 0
    yield from (port for port in near if port in others)


def _why_another(first: int, taken: int, led: FormerPort | None) -> str:
    free = None if led is None else _bound(first)
    if _is_forbidden(first):
        return f"port {first} of this machine is not for ordinary users; the tunnel has {taken}"
    if led is None or free is None:
        return f"port {first} of this machine is in use; the tunnel has {taken}"
    free.close()
    return (
        f"port {first} of this machine led to {led.to} within the last day, and a page of it may still be open; "
        f"the tunnel has {taken} (`--port {first}` asks for the other)"
    )


def _high(bound: socket.socket) -> socket.socket:
    """The same under a number that no shell script on the way uses for itself."""
    return socket.socket(fileno=fcntl.fcntl(bound, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR))


def _keeper_started(
    caller: Caller, wanted: WantedTunnel, listener: socket.socket, profile: str
) -> Answer:
    kept = KeptTunnel(
        asked=_from_anywhere(caller.asked, profile),
        profile=profile,
        name=wanted.name,
        listener=listener.fileno(),
        local_port=listener.getsockname()[1],
        server=wanted.server,
        socket=wanted.socket,
        port=wanted.port,
        to=wanted.to,
    )
    process = subprocess.Popen(
        own_command(WORD),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(caller.environment),
        pass_fds=(listener.fileno(),),
        start_new_session=True,
        cwd="/",
    )
    try:
        return _first_words(process, msgspec.json.encode(kept))
    except BaseException:
        process.terminate()
        raise
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        process.returncode = 0  # it outlives us: no warning that it was not waited for


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    config = environment.get(PATH_VARIABLE)
    return {**environment, **({PATH_VARIABLE: os.path.abspath(config)} if config else {})}


def _from_anywhere(asked: Asked, profile: str) -> Asked:
    """The same settings for a process that is in no directory of the user's, whatever is the default later."""
    config = os.path.abspath(asked.config) if asked.config else None
    return msgspec.structs.replace(asked, config=config, profile=profile)


def _first_words(process: subprocess.Popen[bytes], request: bytes) -> Answer:
    if process.stdin is None or process.stdout is None:
        return Answer(code=TunnelFailed.code, message="it did not start")
    with suppress(BrokenPipeError):
        process.stdin.write(request)
        process.stdin.close()
    poll = select.poll()
    poll.register(process.stdout.fileno(), select.POLLIN | select.POLLHUP)
    if not poll.poll(_READY_S * 1000):
        process.terminate()
        return Answer(code=TunnelFailed.code, message=f"no answer for {_READY_S:g} s")
    try:
        return msgspec.json.decode(process.stdout.readline(), type=Answer)
    except msgspec.DecodeError:
        return Answer(code=TunnelFailed.code, message="its process ended at once")


def _raise_what_it_says(answer: Answer, wanted: WantedTunnel) -> None:
    if not answer.code:
        return
    if not answer.exit_code:
        raise TunnelFailed(to=wanted.to, reason=answer.message)
    raise error_from_agent(
        answer.code, answer.message, answer.hint, retryable=True, exit_code=answer.exit_code
    )
