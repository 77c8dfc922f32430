"""The text of an alias's file: made from checked values, and read back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from scratchflow.ssh.config.names import (
    is_login,
    is_name,
    is_node,
    is_plain,
    is_port,
    is_quotable,
    is_user,
)
from scratchflow.ssh.config.paths import SshPaths

HEADER = "# Written by scratchflow, which overwrites it; your own settings belong elsewhere.\n"

_RIDING = re.compile(
    r"ssh(?: -F \S+)? -o ControlMaster=no -o ControlPath=(?P<shared>\S+) -W '\[%h\]:%p' (?P<login>\S+)"
)
_PARKED_BEGINNING = "sh -c 'echo \"scratchflow: this host is parked"


class AliasTarget(msgspec.Struct, frozen=True):
    """Where the alias leads: a node, behind a login host unless this machine is the login host.

    `identity_files` are those that the user's config names for the login host (see
    `ResolvedHost.named_identity_files`): a key given to `Host login` alone opens the node too. `shared` is the
    socket of our connection to a login host that asks for more than a key: who takes the alias is not asked again.
    """

    profile: str
    node: str
    user: str
    login: str | None
    port: int = 22
    identity_files: tuple[str, ...] = ()
    identities_only: bool = False
    shared: str = ""

    @property
    def key_alias(self) -> str:
        """The name that the node's host key is on record under: clusters share node names."""
        return f"{self.profile}-{self.node}"


class Parked(msgspec.Struct, frozen=True):
    """The alias leads nowhere."""


PARKED = Parked()


def numbered(alias: str, number: int) -> str:
    """The alias of the allocation's second node, third node …"""
    return f"{alias}-{number}"


def fault_in(alias: str, target: AliasTarget) -> str | None:
    """Why these values must not be written into an ssh config; None when they may."""
    return next(_faults(alias, target), None)


def _faults(alias: str, target: AliasTarget) -> Iterator[str]:
    if not is_name(alias):
        yield f"`{alias}` cannot be the name of an alias"
    if not is_name(target.profile):
        yield f"`{target.profile}` cannot be the name of a profile"
    if not is_node(target.node):
        yield f"`{target.node}` is not a node name that ssh could be given safely"
    if not is_user(target.user):
        yield f"`{target.user}` is not a user name that ssh could be given safely"
    if not is_port(target.port):
        yield f"{target.port} is not a port"
    yield from _login_faults(alias, target)
    if target.shared and not is_plain(target.shared):
        yield f"the socket `{target.shared}` has characters that a shell would act on"
    for file in target.identity_files:
        if not is_quotable(file):
            yield f"the path of the key `{file}` has characters that ssh would not take literally"


def _login_faults(alias: str, target: AliasTarget) -> Iterator[str]:
    if target.login is not None and not is_login(target.login):
        yield f"`{target.login}` is not a login host that ssh could be given safely"
    login = (target.login or "").rpartition("@")[2].lower()
    if login == alias.lower():
        yield f"`{alias}` is the login host itself"
    if login == target.node.lower():
        # ssh calls that a loop. A node that is the login host has no login host before it.
        yield f"the node `{target.node}` has the name of the login host"


def target_text(
    alias: str, target: AliasTarget, places: SshPaths, others: Sequence[AliasTarget] = ()
) -> str:
    """The alias's file, with the aliases of the allocation's other nodes after it.

    Only for values in which `fault_in` finds no fault.
    """
    hosts = [(alias, target), *numbered_targets(alias, others)]
    return HEADER + "".join(_host_text(name, _target_options(one, places)) for name, one in hosts)


def numbered_targets(
    alias: str, others: Sequence[AliasTarget]
) -> Iterator[tuple[str, AliasTarget]]:
    """The other nodes, each with the name that leads there."""
    for number, target in enumerate(others, start=2):
        yield numbered(alias, number), target


def _target_options(target: AliasTarget, places: SshPaths) -> list[str]:
    return [
        f"HostName {target.node}",
        f"User {target.user}",
        f"Port {target.port}",
        _way_option(target, places),
        *(f'IdentityFile "{file}"' for file in target.identity_files),
        *(["IdentitiesOnly yes"] if target.identities_only else []),
        # Nodes change beneath one alias: each has its own key on record, and is still verified.
        # `no` instead of `accept-new` would also switch port forwarding off.
        f"HostKeyAlias {target.key_alias}",
        "StrictHostKeyChecking accept-new",
        f"UserKnownHostsFile {places.quoted(places.host_keys_file(target.key_alias))}",
        "HashKnownHosts no",
        "UpdateHostKeys no",
        "CheckHostIP no",
        # A shared connection would go on leading to the node before.
        "ControlMaster no",
        "ControlPath none",
        # No RemoteCommand, which could start a shell in the workspace: with one, ssh refuses every other command,
        # and scp, rsync and editors need theirs. `scratchflow shell` starts there.
        "ForwardAgent no",
        "ConnectTimeout 15",
        "ServerAliveInterval 15",
        "ServerAliveCountMax 3",
    ]


def _way_option(target: AliasTarget, places: SshPaths) -> str:
    command = riding_command(target, places)
    return f"ProxyCommand {command}" if command else f"ProxyJump {target.login or 'none'}"


def riding_command(target: AliasTarget, places: SshPaths) -> str | None:
    """The ssh that leads to the login host over our shared connection; None where a plain jump has to do.

    It logs in by itself where that connection has ended. Its words go to the user's shell, whichever that is.
    """
    if not (target.login and target.shared and is_plain(str(places.config))):
        return None
    config = "" if places.is_default else f" -F {places.config}"
    share = f"-o ControlMaster=no -o ControlPath={target.shared}"
    return f"ssh{config} {share} -W '[%h]:%p' {target.login}"


def parked_command(profile: str) -> str:
    """What ssh runs for a parked alias, to say which command takes a node for it.

    No value of anybody's is in here but a profile's name, which has letters, digits, `.`, `_` and `-` only: ssh
    hands it to the user's shell. Single quotes and a plain `sh` mean the same to sh, zsh, fish and csh, which
    differ on `>&2`.
    """
    named = f"-p {profile} " if is_name(profile) else ""
    run = f"scratchflow {named}up"
    return f"{_PARKED_BEGINNING}, there is no allocation. Run: {run}\" >&2; exit 1'"


def parked_text(alias: str, profile: str = "", others: int = 0) -> str:
    """The file of a parked alias, and of as many numbered ones after it.

    The name under `.invalid` never resolves, by its definition.
    """
    options = [
        "HostName parked.invalid",
        "ProxyJump none",
        f"ProxyCommand {parked_command(profile)}",
        "ControlMaster no",
        "ControlPath none",
        # ssh would add two lines about a closed connection, which is not the news.
        "LogLevel QUIET",
    ]
    names = [alias, *(numbered(alias, number + 2) for number in range(others))]
    return HEADER + "".join(_host_text(name, options) for name in names)


def parse_alias(text: str, alias: str) -> AliasTarget | Parked | None:
    """Where such a text leads; None for anything we would not have written."""
    hosts = parse_hosts(text, alias)
    return hosts[0] if hosts else None


def parse_hosts(text: str, alias: str) -> list[AliasTarget | Parked]:
    """Where the alias leads, then the numbered ones; empty for anything we would not have written."""
    before, *blocks = re.split(r"^(?=Host )", text, flags=re.MULTILINE)
    if any(line.strip() and not line.startswith("#") for line in before.splitlines()):
        return []
    names = [alias, *(numbered(alias, number) for number in range(2, len(blocks) + 1))]
    hosts = [_parse_host(block, name) for block, name in zip(blocks, names, strict=False)]
    known = [one for one in hosts if one is not None]
    return known if len(known) == len(hosts) else []


def _parse_host(text: str, alias: str) -> AliasTarget | Parked | None:
    options: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if key and not key.startswith("#"):
            options.setdefault(key.lower(), []).append(value.strip())
    if options.get("host") != [alias] or "match" in options or "include" in options:
        return None
    commands = options.get("proxycommand", [])
    if commands and commands[0].startswith(_PARKED_BEGINNING):
        return PARKED  # what to run was worded otherwise in other versions
    if not commands:
        return _target_in(options, alias)
    riding = _RIDING.fullmatch(commands[0])
    if riding is None or len(commands) > 1 or "proxyjump" in options:
        return None
    return _target_in({**options, "proxyjump": [riding["login"]]}, alias, riding["shared"])


def _target_in(options: dict[str, list[str]], alias: str, shared: str = "") -> AliasTarget | None:
    try:
        node, user, login, port, key_alias = (
            options[key][0] for key in ("hostname", "user", "proxyjump", "port", "hostkeyalias")
        )
        target = AliasTarget(
            profile=key_alias.removesuffix(f"-{node}"),
            node=node,
            user=user,
            login=None if login == "none" else login,
            port=int(port),
            identity_files=tuple(file.strip('"') for file in options.get("identityfile", [])),
            identities_only=options.get("identitiesonly") == ["yes"],
            shared=shared,
        )
    except (KeyError, ValueError):
        return None
    return None if fault_in(alias, target) or target.key_alias != key_alias else target


def _host_text(alias: str, options: list[str]) -> str:
    lines = [f"Host {alias}", *(f"  {option}" for option in options)]
    return "\n".join(lines) + "\n"
