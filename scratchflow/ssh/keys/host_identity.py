"""Verifies a host's key against the known-hosts files; an unknown key is never accepted silently."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from scratchflow.model.errors.ssh import HostKeyChanged, HostKeyUnknown
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.keys.known_hosts import HostKey, KnownKeys, append_key, hashed_name, known_keys

# One kind of key, several ways to sign with it; the names differ.
_SIGNATURES = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256")}


def keys_on_record(host: ResolvedHost) -> KnownKeys:
    """The host's keys in the user's and the system's known-hosts files."""
    files: list[str | Path] = [*host.user_known_hosts, *host.global_known_hosts]
    known = known_keys(files, host.lookup_name)
    if known.keys or host.host_key_alias or host.port == 22:
        return known
    # As ssh does it: a key that is on record without the port will do.
    return known_keys(files, host.hostname)


def preferred_kinds(offered: Sequence[str], known: KnownKeys) -> list[str]:
    """The host key methods to ask for, those first of which a key is on record.

    Otherwise a host with several keys would show one that we cannot compare.
    """
    recorded = [key.kind for key in known.keys]
    first = {name for kind in recorded for name in _SIGNATURES.get(kind, (kind,))}
    return sorted(offered, key=lambda name: name not in first)


def verify(host: ResolvedHost, shown: HostKey, known: KnownKeys) -> None:
    """Returns when the key is the host's; a new one only where the ssh config says accept-new."""
    if shown in known.revoked:
        raise HostKeyChanged(host=host.lookup_name)
    if shown in known.keys:
        return
    if known.keys:
        raise HostKeyChanged(host=host.lookup_name)
    if host.strict_host_key_checking != "accept-new" or not host.user_known_hosts:
        raise HostKeyUnknown(host=host.name, command=f"ssh {host.name}")
    name = host.lookup_name
    if host.hash_known_hosts:
        name = hashed_name(name, os.urandom(20))
    append_key(Path(host.user_known_hosts[0]), name, shown)
