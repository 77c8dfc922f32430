"""What ssh would do for a host, as `ssh -G` says it: the only reader of ssh configs that counts.

`ssh -G` runs the commands of `Match exec` in the user's config, so only hosts that the user
named, or that their own config leads through, are ever asked about.
"""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scratchflow.model.errors.ssh import SshUnusable
from scratchflow.ssh.config.names import is_host, is_port

RESOLVE_TIMEOUT_S = 10.0
MAX_HOPS = 8

# Several paths come on one line, unquoted. They are absolute by then, so a space that is not
# followed by a slash belongs to a path.
_BETWEEN_PATHS = re.compile(r"\s+(?=[/~])")
_HOP = re.compile(r"(?:ssh://)?(?:([^@]+)@)?(\[[^]]+\]|[^:@\[\]]+)(?::(\d+))?/?")


class ResolvedHost(msgspec.Struct, frozen=True):
    """One host with everything that a connection to it depends on. `name` is what was asked."""

    name: str
    hostname: str
    user: str
    port: int = 22
    identity_files: tuple[str, ...] = ()
    certificate_files: tuple[str, ...] = ()
    identities_only: bool = False
    identity_agent: str | None = None
    proxy_jump: str | None = None
    proxy_command: str | None = None
    host_key_alias: str | None = None
    user_known_hosts: tuple[str, ...] = ()
    global_known_hosts: tuple[str, ...] = ()
    known_hosts_command: str | None = None
    strict_host_key_checking: str = "ask"
    hash_known_hosts: bool = False
    control_path: str | None = None
    control_master: str = "false"
    gssapi: bool = False
    pkcs11_provider: str | None = None
    pubkey: bool = True
    password: bool = True
    keyboard_interactive: bool = True
    remote_command: str | None = None
    config_file: Path | None = None

    @property
    def lookup_name(self) -> str:
        """The name under which the host's key is on record."""
        if self.host_key_alias:
            return self.host_key_alias
        return self.hostname if self.port == 22 else f"[{self.hostname}]:{self.port}"

    @property
    def named_identity_files(self) -> tuple[str, ...]:
        """The key files that somebody named; ssh's own defaults are what it lists otherwise."""
        defaults = all(_DEFAULT_IDENTITY.fullmatch(file) for file in self.identity_files)
        return () if defaults else self.identity_files


_DEFAULT_IDENTITY = re.compile(r"~/\.ssh/id_(rsa|dsa|ecdsa|ecdsa_sk|ed25519|ed25519_sk|xmss)")


def resolve(
    host: str,
    *,
    config: Path | None = None,
    user: str | None = None,
    port: int | None = None,
    timeout_s: float = RESOLVE_TIMEOUT_S,
) -> ResolvedHost:
    """Asks ssh about one host; `config` as with `ssh -F`, None for what ssh reads by itself."""
    if not is_host(host) or (port is not None and not is_port(port)):
        raise SshUnusable(
            host=host,
            reason="this is not a host name that could be handed to ssh safely",
            remedy="a host is letters, digits, `.`, `_` and `-`, with or without `user@`",
        )
    options = ["-F", str(config)] if config else []
    options += ["-l", user] if user else []
    options += ["-p", str(port)] if port else []
    output = _ask_ssh([*options, "--", host], host, timeout_s)
    return msgspec.structs.replace(parse(output, host), config_file=config)


def resolve_chain(host: str, *, config: Path | None = None) -> tuple[ResolvedHost, ...]:
    """The host with the hosts that ProxyJump leads through on the way: first hop first."""
    chain = [resolve(host, config=config)]
    while jump := chain[0].proxy_jump:
        if len(chain) > MAX_HOPS:
            raise SshUnusable(
                host=host,
                reason=f"ProxyJump leads through more than {MAX_HOPS} hosts, or in a circle",
                remedy=f"`ssh -G {host}` shows the ProxyJump; correct it in your ssh config",
            )
        chain.insert(0, _hop(jump, host, config))
    return tuple(chain)


def leads_nowhere(host: ResolvedHost) -> bool:
    """Whether no address is known for its name. Of a host behind another one, only that one could tell."""
    if host.proxy_jump or host.proxy_command:
        return False
    try:
        socket.getaddrinfo(host.hostname, host.port)
    except (socket.gaierror, UnicodeError):  # the latter: a part of the name is empty or too long
        return True
    return False


def _hop(jump: str, host: str, config: Path | None) -> ResolvedHost:
    """The last host of a ProxyJump; those before it are the way to it, as ssh itself reads it."""
    before, _, last = jump.rpartition(",")
    match = _HOP.fullmatch(last.strip())
    if not match:
        raise SshUnusable(
            host=host,
            reason=f"its ProxyJump `{last}` is not `[user@]host[:port]`",
            remedy="correct it in your ssh config",
        )
    user, name, port = match.groups()
    hop = resolve(name.strip("[]"), config=config, user=user, port=int(port) if port else None)
    return msgspec.structs.replace(hop, proxy_jump=before) if before else hop


def parse(output: str, host: str) -> ResolvedHost:
    """Reads what `ssh -G` printed; a key that this version of ssh does not print has its default."""
    values: dict[str, list[str]] = {}
    for key, value in _pairs(output):
        values.setdefault(key, []).append(value)

    def one(key: str) -> str | None:
        found = values.get(key, [""])[0]
        return None if found.lower() in {"", "none"} else found

    def yes(key: str, *, default: bool) -> bool:
        found = one(key)
        return found.lower() in {"yes", "true"} if found else default

    def paths(key: str) -> tuple[str, ...]:
        found = one(key)
        return tuple(_BETWEEN_PATHS.split(found)) if found else ()

    return ResolvedHost(
        name=host,
        hostname=values.get("hostname", [host])[0],
        user=values.get("user", [""])[0],
        port=int(one("port") or 22),
        identity_files=tuple(file for file in values.get("identityfile", []) if file != "none"),
        certificate_files=tuple(values.get("certificatefile", [])),
        identities_only=yes("identitiesonly", default=False),
        # "none" is a choice here: no agent, whatever the environment says.
        identity_agent=values.get("identityagent", [None])[0],
        proxy_jump=one("proxyjump"),
        proxy_command=one("proxycommand"),
        host_key_alias=one("hostkeyalias"),
        user_known_hosts=paths("userknownhostsfile"),
        global_known_hosts=paths("globalknownhostsfile"),
        known_hosts_command=one("knownhostscommand"),
        strict_host_key_checking=(one("stricthostkeychecking") or "ask").lower(),
        hash_known_hosts=yes("hashknownhosts", default=False),
        control_path=one("controlpath"),
        control_master=(one("controlmaster") or "false").lower(),
        gssapi=yes("gssapiauthentication", default=False),
        pkcs11_provider=one("pkcs11provider"),
        pubkey=(one("pubkeyauthentication") or "yes").lower() not in {"no", "false"},
        password=yes("passwordauthentication", default=True),
        keyboard_interactive=yes("kbdinteractiveauthentication", default=True),
        remote_command=one("remotecommand"),
    )


def _pairs(output: str) -> Iterator[tuple[str, str]]:
    for line in output.splitlines():
        key, _, value = line.partition(" ")
        yield key.lower(), value.strip()


def _ask_ssh(arguments: list[str], host: str, timeout_s: float) -> str:
    # -T keeps a remark about terminals out of stderr, where the reason of a failure is read.
    try:
        done = subprocess.run(
            ["ssh", "-T", "-G", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        raise SshUnusable(
            host=host,
            reason="there is no program `ssh` here",
            remedy="install OpenSSH's client (Debian: `openssh-client`)",
        ) from None
    except subprocess.TimeoutExpired:
        raise SshUnusable(
            host=host,
            reason=f"`ssh -G` gave no answer within {timeout_s:g} s",
            remedy="a `Match exec` in your ssh config may hang",
        ) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "surrogateescape").splitlines()  # they end with `\r\n`
        raise SshUnusable(
            host=host,
            reason="; ".join(line for line in said if line)
            or f"`ssh -G` exited with {done.returncode}",
            remedy=f"correct your ssh config; `ssh -G {host}` shows when it is right",
        )
    return done.stdout.decode("utf-8", "surrogateescape")
