"""Asks the agent on the login host, and installs or replaces it there if needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.agent.client import call, call_healed
from scratchflow.agent.name import agent_command
from scratchflow.agent.request import Request, asking
from scratchflow.config.settings import Settings
from scratchflow.model.errors.agent import AgentMissing
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.config import NotSetUp
from scratchflow.model.errors.ssh import ConnectionLost, SshConfigRefused
from scratchflow.model.events import Emit, Log
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import FIRST, Where
from scratchflow.reach.installing import install_for
from scratchflow.reach.login_watch import LoginWatch
from scratchflow.report.question import question_open
from scratchflow.ssh.config import include
from scratchflow.ssh.config.names import is_plain
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.resolve import resolve_chain
from scratchflow.ssh.transport.base import Feed, Transport
from scratchflow.ssh.transport.choose import LOCAL, Means, open_transport
from scratchflow.ssh.transport.openssh import OpenSshTransport
from scratchflow.ssh.transport.shared_connection import end_ours, shared_where_asked

# `watch` speaks about once a minute, for hours: it is not looked after, by a command of its own, in between.
_QUIET_S = {"watch": 80.0}
# Startup files of login shells run before the answer; ssh itself gives a silent host up after 45 to 60 s.
_ANSWER_S = 20.0


@contextmanager
def reach_login(
    settings: Settings,
    environment: Mapping[str, str],
    emit: Emit,
    *,
    may_ask: bool,
    once: bool = False,
) -> Iterator[Transport]:
    """A connection to the profile's login host. Only with `may_ask` may ssh use the terminal.

    With `once` it is made for one request, and serves others too.
    """
    profile = settings.profile
    config = Path(os.path.expanduser(profile.ssh_config))
    means = Means(
        environment,
        has_terminal=may_ask and sys.stdin.isatty() and sys.stderr.isatty(),
        question=partial(question_open, emit),
        remark=lambda text: emit(Log(level="info", message=text)),
    )
    transport = open_transport(
        profile.login,
        means,
        setting=profile.transport,
        config=config if config.exists() else None,
        once=once,
    )
    with transport:
        emit(Log(level="debug", message=f"connection: {transport.describe()}"))
        yield transport


class SharedLogin:
    """The shared connection to the login host, for commands that have our stdin, stdout and stderr."""

    def __init__(self, ssh: OpenSshTransport) -> None:
        self._ssh = ssh
        self.shared_path = ssh.shared_path

    def argv(self, *, terminal: bool) -> list[str]:
        """`ssh` to the login host, up to the command."""
        return self._ssh.foreground_argv(terminal=terminal)

    def require_answer(self) -> None:
        """ConnectionLost when nobody answers there: noticed sooner than by what would hang in it."""
        self._ssh.require_answer(_ANSWER_S)

    def terminal_code(self, code: int) -> int:
        """The command's exit code, of such an ssh with a terminal; ConnectionLost when the connection was."""
        return self._ssh.terminal_code(code)


@contextmanager
def share_login(
    settings: Settings, environment: Mapping[str, str], emit: Emit, *, may_ask: bool
) -> Iterator[SharedLogin]:
    """Logs in with the system's ssh, whatever `transport` says, and leaves the connection for the next command.

    Only it gives a far command our own descriptors, and a terminal.
    """
    profile = settings.profile
    config = Path(os.path.expanduser(profile.ssh_config))
    ssh = OpenSshTransport(
        resolve_chain(profile.login, config=config if config.exists() else None),
        environment=environment,
        interactive=may_ask and sys.stdin.isatty() and sys.stderr.isatty(),
        question=partial(question_open, emit),
        reason="`run` and `shell` use the system's ssh",
    )
    with ssh:
        ssh.connect()
        emit(Log(level="debug", message=ssh.describe()))
        yield SharedLogin(ssh)


def shared_where_login_asks(settings: Settings, environment: Mapping[str, str]) -> str:
    """The socket of our connection to a login host that asks for more than a key; empty for any other."""
    config = Path(os.path.expanduser(settings.profile.ssh_config))
    chain = resolve_chain(settings.profile.login, config=config if config.exists() else None)
    master = shared_where_asked(chain, environment)
    return master.path if master and is_plain(master.path) else ""


def end_shared_login(settings: Settings, environment: Mapping[str, str]) -> None:
    """Ends the connection that `share_login` and logins with a second factor leave for later commands, if there is one."""
    profile = settings.profile
    if profile.login == LOCAL:
        return
    config = Path(os.path.expanduser(profile.ssh_config))
    with suppress(
        ScratchflowError
    ):  # whatever is wrong with the ssh config, there is nothing to end then
        end_ours(
            resolve_chain(profile.login, config=config if config.exists() else None), environment
        )


def ask_agent(
    login: Transport,
    settings: Settings,
    do: str,
    arguments: dict[str, Any],
    emit: Emit,
    *,
    on_node: bool = False,
    where: Where = FIRST,
    verbose: bool = False,
) -> dict[str, Any]:
    """Sends a request to the agent there. A missing agent, or one of another version, is replaced first."""
    profile = settings.profile
    request = asking(
        do,
        arguments,
        profile_name=settings.name,
        profile=to_plain(profile),
        on_node=on_node,
        where=where,
        verbose=verbose,
    )
    return call_healed(
        lambda: ask_once(login, request, emit),
        lambda _: _reinstall(settings, login, emit),
    )


def _reinstall(settings: Settings, login: Transport, emit: Emit) -> None:
    """Brings the agent of this version; not after `setup --remove`, which took it away."""
    if not is_set_up(settings):
        raise NotSetUp(profile=settings.name, host=settings.profile.login)
    install_for(settings, login, emit)


def is_set_up(settings: Settings) -> bool:
    """Whether `setup` was run on this machine for the ssh config that the profile uses."""
    places = SshPaths.of(settings.profile.ssh_config)
    try:
        return include.is_installed(places)
    except SshConfigRefused:  # our lines, changed by hand: who uses the alias will be told
        return True


def feed_agent(login: Transport, request: Request, feed: Feed, emit: Emit) -> dict[str, Any]:
    """What the agent there answers to a request that bytes follow.

    No agent is put there: a feed can be had once, so whoever has one asks something else before.
    """
    fed = msgspec.structs.replace(request, feeds=True)
    return ask_once(login, fed, emit, feed)


def ask_once(
    login: Transport, request: Request, emit: Emit, feed: Feed | None = None
) -> dict[str, Any]:
    """Asks the agent that is there; AgentSilent when it stands still."""
    watch = LoginWatch(login, quiet_s=_QUIET_S.get(request.do, 0.0))
    try:
        return call(watch, request, emit, command=agent_command(), meet=watch.meet, feed=feed)
    except (AgentMissing, ConnectionLost) as error:
        if silence := watch.silence():
            raise silence from error
        raise
