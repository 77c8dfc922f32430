"""Host keys on record: looked up in known-hosts files as ssh does it, and kept for nodes.

Looking up knows hashed names, patterns, `[host]:port` and `@revoked`. It does not know
`@cert-authority`: a host that shows a certificate is left to the system's ssh.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.config.alias import make_private_directory
from scratchflow.ssh.config.names import is_name, is_node
from scratchflow.ssh.config.paths import SshPaths

KINDS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-rsa",
)


class HostKey(msgspec.Struct, frozen=True):
    """One public key of a host."""

    kind: str
    blob: bytes

    def line_for(self, name: str) -> str:
        """The key as a line of a known-hosts file, without its end."""
        shown = name if name.startswith("|1|") else name.lower()
        return f"{shown} {self.kind} {base64.b64encode(self.blob).decode()}"


class KnownKeys(msgspec.Struct, frozen=True):
    """What is on record for a name."""

    keys: frozenset[HostKey]
    revoked: frozenset[HostKey]


def known_keys(files: Iterable[str | Path], name: str) -> KnownKeys:
    """What these files say of a host; one that cannot be read says nothing."""
    keys: set[HostKey] = set()
    revoked: set[HostKey] = set()
    for marker, names, key in _entries(files):
        if _names_match(names, name.lower()):
            {"": keys, "@revoked": revoked}.get(marker, set()).add(key)
    return KnownKeys(frozenset(keys), frozenset(revoked))


def has_authority(files: Iterable[str | Path]) -> bool:
    """Whether any host in these files is vouched for by an authority rather than by its key."""
    return any(marker == "@cert-authority" for marker, _, _ in _entries(files))


def append_key(file: Path, name: str, key: HostKey) -> None:
    """Adds a key that was new, as ssh does with `accept-new`; the name may be a hashed one."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        # Somebody's last line may lack its end; ours must not become a part of it.
        broken = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        start = "\n" if broken else ""
        os.write(descriptor, f"{start}{key.line_for(name)}\n".encode())
    finally:
        os.close(descriptor)


def hashed_name(name: str, salt: bytes) -> str:
    """The name as ssh writes it where HashKnownHosts is on.

    SHA-1 is what the format says; it hides names, it does not vouch for anything.
    """
    import hashlib
    import hmac

    digest = hmac.new(salt, name.lower().encode(), hashlib.sha1).digest()
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


def remember_node(places: SshPaths, profile: str, node: str, scanned: Iterable[str]) -> bool:
    """Puts a node's keys on record, from the lines that `ssh-keyscan` printed.

    What was on record before is replaced: a node that was set up anew has new keys, and the
    caller has just asked it for them over a way that is itself verified. True when an earlier
    key of the same kind was another one.
    """
    file = _file_of(places, profile, node)
    keys = _scanned_keys(scanned, file)
    earlier = known_keys([file], f"{profile}-{node}").keys
    lines = "".join(f"{key.line_for(f'{profile}-{node}')}\n" for key in keys)
    make_private_directory(places.directory)
    make_private_directory(file.parent)
    try:
        replace_file(file, lines.encode(), mode=0o600)
    except OSError as error:
        raise _refusal(file, str(error.strerror).lower(), "check permissions and space") from None
    kinds = {key.kind for key in keys}
    return any(key.kind in kinds and key not in keys for key in earlier)


def parse_key(kind: str, encoded: str) -> HostKey | None:
    """A public key in ssh's own encoding, or None when it is not one, or not of this kind."""
    try:
        blob = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    named = len(kind).to_bytes(4, "big") + kind.encode("ascii", "replace")
    return HostKey(kind, blob) if blob.startswith(named) and len(blob) > len(named) else None


def _scanned_keys(lines: Iterable[str], file: Path) -> list[HostKey]:
    found: list[HostKey] = []
    for line in lines:
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        key = parse_key(fields[1], fields[2]) if len(fields) >= 3 else None
        if key is None or key.kind not in KINDS:
            raise _refusal(file, f"`{line}` is not a host key", "`ssh-keyscan NODE` prints them")
        found.append(key)
    if not found:
        raise _refusal(file, "the node showed no host key", "is its sshd running?")
    return list(dict.fromkeys(found))


def _entries(files: Iterable[str | Path]) -> Iterator[tuple[str, str, HostKey]]:
    for file in files:
        try:
            text = Path(file).read_text("utf-8", "replace")
        except OSError:
            continue
        for line in text.splitlines():
            fields = line.split()
            marker = fields.pop(0) if fields and fields[0].startswith("@") else ""
            if len(fields) >= 3 and not fields[0].startswith("#"):
                key = parse_key(fields[1], fields[2])
                if key:
                    yield marker, fields[0], key


def _names_match(patterns: str, name: str) -> bool:
    matched = False
    for pattern in patterns.split(","):
        if pattern.startswith("|1|"):
            matched = matched or _is_hash_of(pattern, name)
        elif _wildcard(pattern.removeprefix("!").lower()).fullmatch(name):
            if pattern.startswith("!"):
                return False
            matched = True
    return matched


def _is_hash_of(hashed: str, name: str) -> bool:
    import hmac

    try:
        salt = base64.b64decode(hashed.split("|")[2])
        return hmac.compare_digest(hashed_name(name, salt), hashed)
    except (ValueError, IndexError, TypeError):
        return False


def _wildcard(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."))


def _file_of(places: SshPaths, profile: str, node: str) -> Path:
    if not is_name(profile) or not is_node(node):
        raise _refusal(
            places.directory,
            f"`{profile}` or `{node}` is not a name that ssh could be given safely",
            "names are letters, digits, `.`, `_` and `-`",
        )
    return places.host_keys_file(f"{profile}-{node}")


def _refusal(path: Path, reason: str, remedy: str) -> SshConfigRefused:
    return SshConfigRefused(path=path, reason=reason, remedy=remedy)
