"""From the login host to a node of its cluster, by the system's ssh, which never asks anything."""

from __future__ import annotations

from collections.abc import Sequence

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.config.names import is_node
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.keys.known_hosts import remember_node
from scratchflow.ssh.keys.node_probe import scan_host_keys
from scratchflow.ssh.transport.base import (
    ALIVE_COUNT,
    ALIVE_INTERVAL_S,
    CONNECT_TIMEOUT_S,
    far_command,
)


def know_node(places: SshPaths, profile: str, node: str) -> None:
    """Records the node's host keys, unless they were recorded when the job was granted."""
    if not places.host_keys_file(f"{profile}-{node}").exists():
        remember_node(places, profile, node, scan_host_keys(node))


def neighbour_argv(
    places: SshPaths, profile: str, node: str, command: Sequence[str]
) -> list[str | bytes]:
    """`ssh` that runs the command on a node whose keys are on record.

    Every option is one that the ssh of an old cluster knows, or is told to pass over.
    """
    if not is_node(node):
        reason = f"`{node}` is not a node name that ssh could be given safely"
        raise SshConfigRefused(path=places.config, reason=reason, remedy="names are host names")
    key_alias = f"{profile}-{node}"
    settings = [
        "BatchMode=yes",
        "EscapeChar=none",
        f"HostKeyAlias={key_alias}",
        f"UserKnownHostsFile={places.quoted(places.host_keys_file(key_alias))}",
        "StrictHostKeyChecking=yes",
        "CheckHostIP=no",
        f"ConnectTimeout={CONNECT_TIMEOUT_S}",
        f"ServerAliveInterval={ALIVE_INTERVAL_S}",
        f"ServerAliveCountMax={ALIVE_COUNT}",
        # A shared connection would be kept open by what is to outlive ours, and end it with itself.
        "ControlMaster=no",
        "ControlPath=none",
        # What the user's config may ask for an interactive login.
        # All unknown ones: ssh takes the first such list, and the user's own may follow.
        "IgnoreUnknown=*",
        "RemoteCommand=none",
        "PermitLocalCommand=no",
        "ClearAllForwardings=yes",
        "ForwardAgent=no",
        "ForwardX11=no",
        "LogLevel=ERROR",
    ]
    options = [word for setting in settings for word in ("-o", setting)]
    return ["ssh", "-T", *options, "--", node, far_command(command)]
