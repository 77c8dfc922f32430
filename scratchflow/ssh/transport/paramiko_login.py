"""Logs in: tries the ssh agent's keys, key files and questions, in ssh's order."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.model.errors.ssh import AuthNeeded, ConnectionLost, KeyRefused
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.keys.key_files import KeyFile, key_files_of
from scratchflow.ssh.transport.base import LOGIN_COMMAND
from scratchflow.ssh.transport.paramiko_library import load_paramiko

PASSPHRASE_TRIES = 3
AGENT_TIMEOUT_S = 30.0
MAX_FACTORS = 4
# No host hangs up after so few.
FEW_KEYS = 2


class Question(msgspec.Struct, frozen=True):
    """What only the user knows. The text holds the host's own words: foreign text."""

    text: str
    echo: bool = False


# None: nobody is there to answer, or they would rather not.
Ask = Callable[[Question], "str | None"]


class Login:
    """Logs in to the hosts of one chain; a passphrase is asked for once, however many need it."""

    def __init__(self, environment: Mapping[str, str], ask: Ask | None) -> None:
        self._environment = environment
        self._ask = ask
        self._unlocked: dict[Path, Any] = {}
        self._agents: dict[str, Any] = {}

    def authenticate(self, transport: Any, host: ResolvedHost) -> None:
        """Goes through factor after factor until the host is satisfied; AuthNeeded otherwise."""
        try:
            allowed = self._first_answer(transport, host)
            for _ in range(MAX_FACTORS):
                if not allowed:
                    return
                allowed = self._one_factor(transport, host, allowed)
        except load_paramiko().AuthenticationException:
            # paramiko calls a connection that broke just now a refusal.
            if transport.is_active():
                raise
            raise _cut(host) from None
        raise _needed(host, "it wants more factors than anybody has")

    def leave_agents(self) -> None:
        """Closes the connections to agents; unlocked keys stay, for a new connection."""
        for agent in self._agents.values():
            if agent is not None:
                agent._close()  # noqa: SLF001 - the library's own class calls it `close`
        self._agents.clear()

    def _first_answer(self, transport: Any, host: ResolvedHost) -> list[str]:
        """What the host wants, by asking for nothing; a host that wants nothing lets us in."""
        try:
            return list(transport.auth_none(host.user))
        except load_paramiko().BadAuthenticationType as error:
            return list(error.allowed_types)

    def _one_factor(self, transport: Any, host: ResolvedHost, allowed: list[str]) -> list[str]:
        """The factors still missing after one more was given."""
        locked: list[KeyFile] = []
        if "publickey" in allowed and host.pubkey:
            for refused, key in enumerate(self._keys(host, locked)):
                with contextlib.suppress(load_paramiko().AuthenticationException):
                    return list(transport.auth_publickey(host.user, key))
                if transport.is_active():
                    continue
                # A host that has had enough hangs up, as a broken connection does.
                if refused >= FEW_KEYS:
                    raise _needed(host, "it has heard of too many keys that do not fit")
                raise _cut(host)
        if locked:
            path = locked[0].path
            reason = f"the key `{path}` is locked with a passphrase"
            raise AuthNeeded(host=host.name, reason=reason, command=f"ssh-add {path}")
        return self._answered(transport, host, allowed)

    def _answered(self, transport: Any, host: ResolvedHost, allowed: list[str]) -> list[str]:
        wants = ", ".join(allowed)
        if allowed == ["publickey"]:
            raise KeyRefused(host=host.name, reason="it takes nothing else")
        if self._ask is None:
            raise _needed(host, f"no key fits, and nobody can be asked (it takes {wants})")
        try:
            if "keyboard-interactive" in allowed and host.keyboard_interactive:
                return list(transport.auth_interactive(host.user, self._answers))
            if "password" in allowed and host.password:
                question = Question(f"Password of {host.user} on {host.name}: ")
                password = self._ask(question)
                if password is not None:
                    return list(transport.auth_password(host.user, password, fallback=False))
        except load_paramiko().AuthenticationException:
            if not transport.is_active():
                raise
            raise _needed(host, "the answer was not accepted") from None
        raise _needed(host, f"no key fits (it takes {wants})")

    def _answers(self, title: str, about: str, prompts: list[tuple[str, bool]]) -> list[str]:
        """Called by paramiko from its own thread; an unanswered question becomes an empty answer."""
        lines = [text for text in (title, about) if text]
        return [
            (self._ask(Question("\n".join([*lines, text]), echo)) if self._ask else None) or ""
            for text, echo in prompts
        ]

    def _keys(self, host: ResolvedHost, locked: list[KeyFile]) -> Iterator[Any]:
        """Keys in ssh's order: the agent's, then files; locked ones last, when they are needed.

        Keys on a token (FIDO) are passed over: paramiko cannot sign with them.
        """
        files = key_files_of(host)
        named = {file.public_blob for file in files if file.public_blob}
        in_agent = set()
        for key in sorted(self._agent_keys(host), key=lambda key: key.asbytes() not in named):
            if key.asbytes() in named or not host.identities_only:
                in_agent.add(key.asbytes())
                yield key
        usable = [file for file in files if file.kind and not file.is_on_token]
        for file in sorted(usable, key=lambda file: file.is_locked):
            if file.public_blob in in_agent:
                continue
            key = self._load(file)
            if key is not None:
                yield key
            elif file.is_locked:
                locked.append(file)

    def _load(self, file: KeyFile) -> Any | None:
        if file.path not in self._unlocked:
            # A key that stays locked is remembered too: nobody is asked twice.
            self._unlocked[file.path] = self._unlock(file) if file.is_locked else _read(file, None)
        return self._unlocked[file.path]

    def _unlock(self, file: KeyFile) -> Any | None:
        for _ in range(PASSPHRASE_TRIES if self._ask else 0):
            question = Question(f"Passphrase of {file.path}: ")
            passphrase = self._ask(question) if self._ask else None
            if passphrase is None:
                return None
            key = _read(file, passphrase)
            if key is not None:
                return key
        return None

    def _agent_keys(self, host: ResolvedHost) -> list[Any]:
        path = agent_socket(host, self._environment)
        if path is None:
            return []
        if path not in self._agents:
            self._agents[path] = _connect_agent(path)
        agent = self._agents[path]
        keys = agent.get_keys() if agent else ()
        return [key for key in keys if not key.get_name().startswith("sk-")]


def agent_socket(host: ResolvedHost, environment: Mapping[str, str]) -> str | None:
    """Where the agent listens that ssh would use for this host; None when it would use none."""
    wanted = host.identity_agent or "SSH_AUTH_SOCK"
    if wanted.lower() == "none":
        return None
    if wanted == "SSH_AUTH_SOCK":
        return environment.get("SSH_AUTH_SOCK") or None
    return environment.get(wanted[1:]) if wanted.startswith("$") else str(_home_path(wanted))


def _home_path(text: str) -> Path:
    from scratchflow.ssh.config.paths import passwd_home

    return passwd_home() / text[2:] if text.startswith("~/") else Path(text)


def _connect_agent(path: str) -> Any | None:
    """A connection to the agent, or None when none answers. paramiko itself knows only $SSH_AUTH_SOCK."""
    paramiko = load_paramiko()
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(AGENT_TIMEOUT_S)
    agent = paramiko.agent.AgentSSH()
    try:
        connection.connect(path)
        agent._connect(connection)  # noqa: SLF001 - the only way to name the socket
    except (OSError, paramiko.SSHException):
        connection.close()
        return None
    return agent


def _read(file: KeyFile, passphrase: str | None) -> Any | None:
    """The key as paramiko has it; None when the passphrase is wrong or the file is not for it."""
    paramiko = load_paramiko()
    kind = {"ssh-ed25519": paramiko.Ed25519Key, "ssh-rsa": paramiko.RSAKey}.get(file.kind)
    kind = kind or (paramiko.ECDSAKey if file.kind.startswith("ecdsa-") else None)
    try:
        return kind.from_private_key_file(str(file.path), passphrase) if kind else None
    except (paramiko.SSHException, OSError, ValueError):
        return None


def _cut(host: ResolvedHost) -> ConnectionLost:
    return ConnectionLost(host=host.name, reason="it was cut while logging in")


def _needed(host: ResolvedHost, reason: str) -> AuthNeeded:
    return AuthNeeded(host=host.name, reason=reason, command=LOGIN_COMMAND)
