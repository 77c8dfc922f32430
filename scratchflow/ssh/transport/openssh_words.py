"""What ssh's error messages mean: the only place that reads them.

ssh is not translated, so its words are the same under every locale. They are read from its log,
which the far side cannot write to; only a failed hop speaks on stderr.
"""

from __future__ import annotations

import re

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.ssh import (
    AuthNeeded,
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
    HostNotFound,
    KeyRefused,
)
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.transport.base import CHECK_NAME, LOGIN_COMMAND

_DEBUG = re.compile(r"debug\d: ")
_CHANGED = re.compile(
    r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for (\S+) has changed|REVOKED HOST KEY"
)
_UNKNOWN = re.compile(r"Host key verification failed|host key is known for .* strict checking")
_AUTH = re.compile(
    r"Permission denied|Too many authentication failures|[Nn]o more authentication methods"
    r"|Authentication failed|authentication methods available"
)
# What a host that takes nothing but keys says to all of them.
_ONLY_KEYS = re.compile(r"Permission denied \((publickey|gssapi[a-z-]*|hostbased|,)+\)")
_NO_SUCH_HOST = re.compile(r"Could not resolve hostname")
_EXIT_STATUS = re.compile(r"rtype exit-status|Received exit status from master")
_EXIT_SIGNAL = re.compile(r"rtype exit-signal")
_GOT_THROUGH = re.compile(r"Sending command:|master session id:")
_NAMED_KEY = re.compile(r"Host key for (\S+) has changed")
# What an ssh that rides a shared connection says when that ends under it: nothing about why.
_RIDDEN = re.compile(r"^(mux_client_|muxclient|Control socket connect\(|Shared connection to )")
# Closing remarks that follow the reason.
_NOISE = re.compile(r"^(Connection closed by UNKNOWN|kex_exchange_identification|banner exchange)")


def read_status(log: str) -> bool:
    """Whether the far command itself ended with a status, 255 included."""
    return bool(_EXIT_STATUS.search(log))


def read_signal(log: str) -> bool:
    """Whether ssh was told that a signal ended the far command."""
    return bool(_EXIT_SIGNAL.search(log))


def got_through(log: str) -> bool:
    """Whether the command was handed to the host."""
    return bool(_GOT_THROUGH.search(log))


def failure(host: ResolvedHost, log: str, stderr: str) -> ScratchflowError:
    """Why ssh itself gave up."""
    lines = [line.strip() for line in f"{stderr}\n{log}".splitlines() if not _DEBUG.match(line)]
    said = "\n".join(lines)
    if _CHANGED.search(said):
        named = _NAMED_KEY.search(said)
        return HostKeyChanged(host=named.group(1) if named else host.lookup_name)
    if _UNKNOWN.search(said):
        return HostKeyUnknown(host=host.name, command=f"ssh {host.name}")
    if _AUTH.search(said):
        reason = next(line for line in lines if _AUTH.search(line))
        if _ONLY_KEYS.search(reason):
            return KeyRefused(host=host.name, reason=reason)
        return AuthNeeded(host=host.name, reason=reason, command=LOGIN_COMMAND)
    if _NO_SUCH_HOST.search(said):
        return HostNotFound(host=host.name, suggestion="", remedy=CHECK_NAME)
    return ConnectionLost(host=host.name, reason=_reason(lines))


def _reason(lines: list[str]) -> str:
    spoken = [line.removeprefix("ssh: ") for line in lines if line]
    reasons = [line for line in spoken if not _RIDDEN.match(line)]
    if spoken and not reasons:
        return "it stopped answering, and the connection that was open was given up"
    telling = [line for line in reasons if not _NOISE.match(line)] or reasons
    return telling[0] if telling else "it was closed"
