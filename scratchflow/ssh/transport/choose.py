"""Which transport for which host, and why: paramiko where it can do the job, else the system's ssh."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from scratchflow.model.errors.ssh import AuthNeeded, HostKeyUnknown, SshUnusable
from scratchflow.ssh.config.resolve import ResolvedHost, resolve_chain
from scratchflow.ssh.keys.key_files import key_files_of
from scratchflow.ssh.keys.known_hosts import has_authority
from scratchflow.ssh.transport.base import Transport
from scratchflow.ssh.transport.local import LocalTransport
from scratchflow.ssh.transport.openssh import KEEP_S, OpenSshTransport, Question
from scratchflow.ssh.transport.shared_connection import (
    Master,
    live_master_of_user,
    note_asking,
    our_master,
)

if TYPE_CHECKING:
    from scratchflow.ssh.transport.paramiko_login import Ask

Setting = Literal["auto", "paramiko", "openssh"]
LOCAL = "local"


class Choice(msgspec.Struct, frozen=True):
    """A transport, and the reason in words."""

    kind: Literal["paramiko", "openssh"]
    reason: str
    # The shared connection that is the reason, and was found alive just now.
    master: Master | None = None


class Means(msgspec.Struct, frozen=True):
    """What there is to log in with: the environment, a terminal, somebody to ask."""

    environment: Mapping[str, str]
    ask: Ask | None = None
    has_terminal: bool = False
    question: Question = nullcontext
    # Hears what ssh is about to ask, and why.
    remark: Callable[[str], None] = lambda _: None


def open_transport(
    host: str,
    means: Means,
    *,
    setting: Setting = "auto",
    config: Path | None = None,
    keep_s: int = KEEP_S,
    once: bool = False,
) -> Transport:
    """Connects to a host and logs in; `local` is this machine.

    With `auto`, what paramiko turns out not to manage is handed to the system's ssh, which can
    ask on the terminal, a new host's fingerprint included, and keeps the login for later. For whoever wants to ask
    `once`, `auto` logs in only when that is asked (`once.py`).
    """
    if host == LOCAL:
        return LocalTransport()
    chain = resolve_chain(host, config=config)
    choice = choose(setting, chain, means.environment)
    staying = _Staying(chain, means, setting, keep_s)
    if choice.kind == "openssh":
        return staying.by_openssh(choice.reason, choice.master)
    if once and setting == "auto":
        from scratchflow.ssh.transport.once import OnceTransport

        first = OpenSshTransport(
            chain, environment=means.environment, shared=False, reason="to ask once"
        )
        return OnceTransport(first, lambda: staying.by_paramiko(choice.reason))
    return staying.by_paramiko(choice.reason)


class _Staying(msgspec.Struct, frozen=True):
    """Opens a connection for any number of commands."""

    chain: Sequence[ResolvedHost]
    means: Means
    setting: Setting
    keep_s: int

    def by_openssh(self, reason: str, master: Master | None = None) -> Transport:
        """With the system's ssh, shared with later commands; `master` is known to be alive."""
        transport = OpenSshTransport(
            self.chain,
            environment=self.means.environment,
            interactive=self.means.has_terminal,
            keep_s=self.keep_s,
            reason=reason,
            question=self.means.question,
            master=master,
        )
        transport.connect()
        return transport

    def by_paramiko(self, reason: str) -> Transport:
        """With paramiko; with `auto`, what it does not manage goes to the system's ssh."""
        from scratchflow.ssh.transport.paramiko_transport import ParamikoTransport

        means = self.means
        # Where there is a terminal, whatever has to be asked is asked by ssh, which keeps the login.
        asks_by_itself = self.setting == "paramiko" or not means.has_terminal
        transport = ParamikoTransport(
            self.chain,
            environment=means.environment,
            ask=means.ask if asks_by_itself else None,
            reason=reason,
        )
        try:
            transport.connect()
        except (AuthNeeded, HostKeyUnknown, SshUnusable) as error:
            return self._after(error)
        return transport

    def _after(self, error: AuthNeeded | HostKeyUnknown | SshUnusable) -> Transport:
        """What the system's ssh makes of a host that paramiko could not log in to."""
        means = self.means
        if self.setting != "auto" or (isinstance(error, HostKeyUnknown) and not means.has_terminal):
            raise error
        if isinstance(error, HostKeyUnknown):
            means.remark(
                f"This machine has not met `{self.chain[-1].name}` before, so ssh shows its fingerprint and asks. "
                "Compare it with the one that your cluster publishes."
            )
        try:
            transport = self.by_openssh(f"paramiko did not manage: {error}")
        except AuthNeeded:
            # Nobody was asked: what paramiko found (a locked key, say) is the better reason.
            if means.has_terminal:
                raise
            raise error from None
        if isinstance(error, AuthNeeded):
            note_asking(self.chain, means.environment)
        return transport


def choose(
    setting: Setting, chain: Sequence[ResolvedHost], environment: Mapping[str, str]
) -> Choice:
    """What the profile says; with `auto`, paramiko unless something needs the system's ssh."""
    if setting != "auto":
        return Choice(setting, "the profile says so")
    for host in chain:
        for reason in _needs_of(host, environment):
            return Choice("openssh", reason)
    ours = our_master(chain, environment)
    if ours and Path(ours.path).exists() and ours.is_alive(chain[-1]):
        return Choice("openssh", "a shared connection of ours is alive", ours)
    return Choice("paramiko", "the default")


def _needs_of(host: ResolvedHost, environment: Mapping[str, str]) -> Iterator[str]:
    """The reasons why this host needs the system's ssh; cheap ones first."""
    name = f"`{host.name}`"
    known_hosts = [*host.user_known_hosts, *host.global_known_hosts]
    if host.proxy_command:
        yield f"{name} is reached with a ProxyCommand"
    if host.pkcs11_provider:
        yield f"{name} takes a key on a smart card (PKCS#11)"
    if host.known_hosts_command or has_authority(known_hosts):
        yield f"the host key of {name} may be vouched for in a way that only ssh knows"
    if host.strict_host_key_checking in {"no", "off", "false"}:
        yield f"host key checks are switched off for {name}, which only ssh does"
    if host.gssapi and _has_kerberos_ticket(environment):
        yield f"{name} may take your Kerberos ticket"
    if host.certificate_files or any(file.has_certificate for file in key_files_of(host)):
        yield f"{name} has a certificate configured"
    if _only_tokens(host, environment):
        yield f"the keys for {name} are on a security token (FIDO)"
    if live_master_of_user(host):
        yield f"a shared connection of yours to {name} is alive"


def _has_kerberos_ticket(environment: Mapping[str, str]) -> bool:
    """Debian switches GSSAPI on for every host: only with a ticket does it matter."""
    return "KRB5CCNAME" in environment or Path(f"/tmp/krb5cc_{os.getuid()}").exists()  # noqa: S108 - Kerberos' own place


def _only_tokens(host: ResolvedHost, environment: Mapping[str, str]) -> bool:
    kinds = [file.kind for file in key_files_of(host)]
    if any(kind and not kind.startswith("sk-") for kind in kinds):
        return False
    from scratchflow.ssh.transport.paramiko_login import agent_socket

    kinds += _kinds_in_agent(agent_socket(host, environment), environment)
    return bool(kinds) and all(kind.startswith("sk-") for kind in kinds)


def _kinds_in_agent(path: str | None, environment: Mapping[str, str]) -> list[str]:
    if path is None:
        return []
    try:
        done = subprocess.run(
            ["ssh-add", "-L"],
            env={**environment, "SSH_AUTH_SOCK": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else []
    return [line.split()[0] for line in lines if line.split()]
