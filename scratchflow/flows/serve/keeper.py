"""The process that keeps a tunnel: it has the local port, and connects to the node again whenever that is lost.

It outlives the terminal. It ends with its server, with the allocation, or when `serve stop` says so.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import FrameType
from typing import IO

import msgspec

from scratchflow.agent.name import agent_command, own_command
from scratchflow.cluster.command import command_environment
from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller, cluster_of, is_here, is_login_host
from scratchflow.flows.alias import show_alias
from scratchflow.flows.serve.former_ports import FormerPort, note_end, note_port
from scratchflow.flows.serve.local_tunnels import (
    LEAD_ON,
    TunnelRecord,
    holding_tunnel,
    is_listed,
    write_tunnel,
)
from scratchflow.model.errors.allocation import AllocationEnded, AllocationMissing
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.serve import ServerMissing, TunnelFailed
from scratchflow.model.requests import NOTHING, CarrierOf
from scratchflow.model.results.run import RunCarrier
from scratchflow.model.results.serve import ServersSeen
from scratchflow.model.text import last_line
from scratchflow.process.child import end_child
from scratchflow.process.far_words import Way
from scratchflow.reach.installing import install_for
from scratchflow.reach.login import share_login
from scratchflow.reach.tunnel.direct import direct_argv
from scratchflow.reach.tunnel.far_end import MARK, REMARK, Target
from scratchflow.reach.tunnel.far_end import WORD as FAR_END
from scratchflow.reach.tunnel.multiplexer import Multiplexer
from scratchflow.reach.tunnel.own_callers import own_callers
from scratchflow.ssh.transport.local import LocalTransport

WORD = "tunnel-keeper"
_READY_S = 60.0
_LONGEST_PAUSE_S = 10.0
# Each try to log in may count: some sites lock an account after a few.
_PAUSE_AFTER_REFUSAL_S = 60.0
_REFUSED = {12, 13}
_MOST_NOISE_BYTES = 1 << 16
_STEADY_S = 30.0


class KeptTunnel(msgspec.Struct, frozen=True, kw_only=True):
    """What the keeper is told on its stdin. `listener` is the descriptor of the local port."""

    asked: Asked
    profile: str
    name: str
    listener: int
    local_port: int
    server: str = ""
    socket: str = ""
    port: int = 0
    to: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The one line that it writes: it leads to the node, or why not."""

    code: str = ""
    message: str = ""
    hint: str = ""
    exit_code: int = 0
    node: str = ""
    remark: str = ""


class _Stopped(BaseException):
    """A signal asks us to end."""


def main() -> int:
    """Reads what to keep, and keeps it."""

    def stop(_signum: int, _frame: FrameType | None) -> None:
        raise _Stopped

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    for number in (signal.SIGHUP, signal.SIGPIPE, LEAD_ON):
        signal.signal(number, signal.SIG_IGN)
    with os.fdopen(0, "rb", closefd=False) as stdin:
        kept = msgspec.json.decode(stdin.read(), type=KeptTunnel)
    with suppress(_Stopped), holding_tunnel(kept.profile, kept.name) as is_ours:
        if is_ours:
            with socket.socket(fileno=kept.listener) as listener:
                try:
                    _Keeper(kept, listener).keep()
                finally:
                    note_end(kept.local_port, time.time())
    return 0


class _Keeper:
    def __init__(self, kept: KeptTunnel, listener: socket.socket) -> None:
        self._kept, self._listener = kept, listener
        self._caller = Caller(asked=kept.asked, environment=os.environ)
        self._settings = self._caller.settings()
        self._problem: str | None = None
        self._has_answered = False
        self._is_own_caller = own_callers(listener)
        self._must_lead_on = False
        signal.signal(LEAD_ON, self._lead_on)
        self._job_id: int | None = None
        self._node = ""
        self._carried = 0
        self._remark = ""

    def keep(self) -> None:
        """Until its server, or the allocation, is gone, or no command can find it any more."""
        self._note("")
        pause_s = 0.0
        while is_listed(self._kept.profile, self._kept.name):
            begun_s = time.monotonic()
            refused = False
            try:
                target = self._find()
                self._carry(target)
            except ScratchflowError as error:
                if self._answer(error) or self._is_over(error):
                    return
                refused = error.exit_code in _REFUSED
                self._note(str(error))
            was_steady = time.monotonic() - begun_s > _STEADY_S
            pause_s = 0.2 if was_steady else min(max(0.2, pause_s * 2), _LONGEST_PAUSE_S)
            time.sleep(_PAUSE_AFTER_REFUSAL_S if refused else pause_s)

    def _lead_on(self, _signum: int, _frame: FrameType | None) -> None:
        self._must_lead_on = True

    def _may_go_on(self) -> bool:
        return not self._must_lead_on and is_listed(self._kept.profile, self._kept.name)

    def _is_over(self, error: ScratchflowError) -> bool:
        """Whether there is nothing left to lead to. A server may have moved to another job, and is looked for again."""
        if self._kept.server:
            return isinstance(error, ServerMissing)
        return isinstance(error, AllocationMissing | AllocationEnded)

    def _find(self) -> Target:
        """Where the server is now; ServerMissing when it has ended."""
        token = secrets.token_hex(16)
        if not self._kept.server:
            return Target(token=token, socket=self._kept.socket, port=self._kept.port)
        with cluster_of(self._settings, self._caller, lambda _: None) as cluster:
            seen = cluster.on_login("server list", NOTHING, ServersSeen)
        for server in seen.servers:
            if server.name == self._kept.server and not server.ended:
                self._job_id, self._node = server.job_id, server.node
                return Target(
                    token=token, socket=server.socket, port=server.port, ends_with_server=True
                )
        raise ServerMissing(name=self._kept.server)

    def _carry(self, target: Target) -> None:
        """Over ssh to the node, where that works; else as a step of its job, which is slower.

        A step ends with its job whatever the site does. Over ssh the far end ends with the server, or looks after the job.
        """
        settings, environment = self._settings, dict(self._caller.environment)
        if is_here(settings, environment, self._job_id):
            return self._through(own_command(FAR_END), environment, target)
        if is_login_host(settings, environment):
            install_for(settings, LocalTransport(), lambda _: None)
            argv = _step(self._carrier(), [])
            return self._through(argv, command_environment(environment), target)
        sharing = share_login(settings, environment, lambda _: None, may_ask=False)
        with sharing as login:
            to_login = login.argv(terminal=False)
            if target.ends_with_server and self._by_alias(to_login, environment, target):
                return None
            found = self._carrier()
            if not target.ends_with_server and self._alias_leads_to(found.node):
                in_job = msgspec.structs.replace(target, job_id=found.job_id)
                if self._by_alias(to_login, environment, in_job):
                    return None
            return self._through(_step(found, to_login), environment, target)

    def _alias_leads_to(self, node: str) -> bool:
        """Whether it is the node that is meant: a port there says nothing of itself."""
        alias = show_alias(self._settings)
        return alias is not None and alias.target == node

    def _by_alias(self, to_login: list[str], environment: dict[str, str], target: Target) -> bool:
        """Whether the alias led to the server, however that ended."""
        profile = self._settings.profile
        config = os.path.expanduser(profile.ssh_config)
        words = agent_command(FAR_END)
        argv = direct_argv(profile.alias, config if os.path.exists(config) else "", to_login, words)
        before = self._carried
        with suppress(TunnelFailed):
            self._through(argv, environment, target)
        return self._carried > before

    def _carrier(self) -> RunCarrier:
        """The job, and what starts a step of it."""
        with cluster_of(self._settings, self._caller, lambda _: None) as cluster:
            request = CarrierOf(job_id=self._job_id, unbuffered=True)
            found = cluster.on_login("run carrier", request, RunCarrier)
        self._node = found.node
        return found

    def _through(self, argv: list[str], environment: dict[str, str], target: Target) -> None:
        """Carries until the far end, which the words start, is gone. TunnelFailed when it never answers."""
        with ExitStack() as open_until:
            said = open_until.enter_context(tempfile.TemporaryFile())
            try:
                process = subprocess.Popen(
                    argv,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    start_new_session=True,
                )
            except OSError as error:
                raise TunnelFailed(to=self._kept.to, reason=error.strerror) from None
            open_until.callback(end_child, process)
            try:
                reader, writer, self._remark = _shake_hands(process, target, self._kept.to)
            except EOFError:
                raise TunnelFailed(to=self._kept.to, reason=_last_words(said)) from None
            self._carried += 1
            self._must_lead_on = False
            self._note("")
            self._note_port()
            self._answer(None)
            Multiplexer(
                reader,
                writer,
                listener=self._listener,
                is_welcome=self._is_own_caller or (lambda _: True),
                is_there=self._may_go_on,
                monotonic=_awake_or_not(),
            ).run()

    def _answer(self, error: ScratchflowError | None) -> bool:
        """Tells whoever started us, once. With an error nothing was opened: whether that is so."""
        if self._has_answered:
            return False
        self._has_answered = True
        answer = Answer(node=self._node, remark=self._remark)
        if error is not None:
            answer = Answer(
                code=error.code,
                message=str(error),
                hint=error.shown_hint,
                exit_code=error.exit_code,
            )
        with suppress(OSError):
            os.write(1, msgspec.json.encode(answer) + b"\n")
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.close(nothing)
        return error is not None

    def _note_port(self) -> None:
        kept = self._kept
        led = FormerPort(profile=kept.profile, name=kept.name, to=kept.to)
        with suppress(OSError):
            note_port(kept.local_port, led)

    def _note(self, problem: str) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        record = TunnelRecord(
            name=self._kept.name,
            pid=os.getpid(),
            local_port=self._kept.local_port,
            server=self._kept.server,
            to=self._kept.to,
            problem=problem,
        )
        with suppress(OSError):
            write_tunnel(self._kept.profile, record)


def _step(found: RunCarrier, to_login: list[str]) -> list[str]:
    """The words that start the far end as a step of the job."""
    way = Way(to_login, found.argv, quotes=found.quotes)
    return way.argv(agent_command(FAR_END))


def _shake_hands(process: subprocess.Popen[bytes], target: Target, to: str) -> tuple[int, int, str]:
    """Says where to, and waits for the far end's first line; the pipes, and its remark. EOFError when the stream ends before it."""
    if process.stdin is None or process.stdout is None:
        raise EOFError
    with suppress(BrokenPipeError):
        os.write(process.stdin.fileno(), msgspec.json.encode(target) + b"\n")
    wanted = MARK + target.token.encode() + b"\n"
    heard = bytearray()
    poll = select.poll()
    poll.register(process.stdout.fileno(), select.POLLIN | select.POLLHUP)
    until = time.monotonic() + _READY_S
    while not heard.endswith(wanted):
        left_s = until - time.monotonic()
        if left_s < 0 or len(heard) > _MOST_NOISE_BYTES:
            raise TunnelFailed(to=to, reason="the node gives no answer")
        if poll.poll(left_s * 1000):
            byte = os.read(process.stdout.fileno(), 1)  # what follows belongs to the frames
            if not byte:
                raise EOFError
            heard += byte
    return process.stdout.fileno(), process.stdin.fileno(), remark_in(bytes(heard), target.token)


def remark_in(heard: bytes, token: str) -> str:
    """What the far end says of its target, among what login shells print."""
    _, mark, after = heard.partition(REMARK + token.encode() + b" ")
    return after.partition(b"\n")[0].decode(errors="replace") if mark else ""


def _last_words(said: IO[bytes]) -> str:
    said.seek(0)
    return last_line(said.read()) or "the connection was closed"


def _awake_or_not() -> Callable[[], float]:
    """A clock that goes on while the laptop sleeps, where there is one: a connection is then known to be dead at once."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic
