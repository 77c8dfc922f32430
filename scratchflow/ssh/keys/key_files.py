"""Private key files looked at from outside: of which kind, locked or not. Nothing is decrypted."""

from __future__ import annotations

import base64
import binascii
import getpass
import re
from pathlib import Path

import msgspec

from scratchflow.ssh.config.paths import passwd_home
from scratchflow.ssh.config.resolve import ResolvedHost

_OPENSSH = re.compile(
    r"-----BEGIN OPENSSH PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]+)-----END", re.ASCII
)
_PEM_KINDS = {
    "-----BEGIN RSA PRIVATE KEY-----": "ssh-rsa",
    "-----BEGIN EC PRIVATE KEY-----": "ecdsa-sha2-nistp256",
}
# Kind and key; what follows on the line is the comment.
_PUBLIC_KEY = re.compile(rb"([a-z0-9@.-]+ [A-Za-z0-9+/=]+)(?:[ \t]+([^\r\n]*))?")
_MAGIC = b"openssh-key-v1\0"
_MAX_BYTES = 1 << 16


class KeyFile(msgspec.Struct, frozen=True):
    """One private key file; `kind` is empty when it is not a format that we know."""

    path: Path
    kind: str
    is_locked: bool
    public_blob: bytes | None

    @property
    def is_on_token(self) -> bool:
        """Whether the secret is in a hardware token (FIDO), which only the system's ssh can ask."""
        return self.kind.startswith("sk-")

    @property
    def has_certificate(self) -> bool:
        """Whether ssh would show a certificate with it."""
        return self.path.with_name(f"{self.path.name}-cert.pub").exists()


def key_files_of(host: ResolvedHost) -> list[KeyFile]:
    """The key files of a host that are there, in the order in which ssh tries them."""
    paths = [_expanded(text, host) for text in host.identity_files]
    found = [_look_at(path) for path in paths if path]
    return [file for file in found if file]


def usual_key_path(host: ResolvedHost) -> Path:
    """Where a new key for the host belongs: the file that the config names, or ssh's usual one."""
    named = [_expanded(text, host) for text in host.named_identity_files]
    return next((path for path in named if path), passwd_home() / ".ssh" / "id_ed25519")


def public_line(path: Path) -> str | None:
    """The public key beside a private one, as a line for `authorized_keys`; None when there is none."""
    try:
        found = _PUBLIC_KEY.fullmatch(path.with_name(f"{path.name}.pub").read_bytes().strip())
    except OSError:
        return None
    if found is None:
        return None
    key, comment = found[1].decode("ascii"), (found[2] or b"").decode("utf-8", "surrogateescape")
    # A comment is anybody's text: one that cannot be shown as it is, is left out.
    return f"{key} {comment}" if comment and comment.isprintable() else key


def _look_at(path: Path) -> KeyFile | None:
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode("ascii", "replace")
    except OSError:
        return None
    match = _OPENSSH.search(text)
    if match:
        return _openssh_format(path, match.group(1))
    kind = next((kind for head, kind in _PEM_KINDS.items() if head in text), "")
    return KeyFile(path, kind, "ENCRYPTED" in text, _public_blob_beside(path))


def _openssh_format(path: Path, encoded: str) -> KeyFile | None:
    """Reads the header, which is never encrypted: cipher, and the public key with its kind."""
    try:
        raw = base64.b64decode(encoded)
        cipher, rest = _text(raw.removeprefix(_MAGIC))
        _, rest = _text(rest)  # how the passphrase becomes a key
        _, rest = _text(rest)  # with which salt
        public, _ = _text(rest[4:])  # after the number of keys, which is always one
        kind, _ = _text(public)
    except (binascii.Error, ValueError):
        return None
    return KeyFile(path, kind.decode("ascii", "replace"), cipher != b"none", public)


def _text(raw: bytes) -> tuple[bytes, bytes]:
    """The first length-prefixed field, and what follows it."""
    length = int.from_bytes(raw[:4], "big")
    if len(raw) < 4 + length or len(raw) < 4:
        raise ValueError("cut short")
    return raw[4 : 4 + length], raw[4 + length :]


def _public_blob_beside(path: Path) -> bytes | None:
    try:
        fields = path.with_name(f"{path.name}.pub").read_text("ascii").split()
        return base64.b64decode(fields[1])
    except (OSError, ValueError, IndexError):
        return None


def _expanded(text: str, host: ResolvedHost) -> Path | None:
    """The path with ssh's own abbreviations written out; None for one that we do not know."""
    home = str(passwd_home())
    known = {
        "%%": "%",
        "%d": home,
        "%h": host.hostname,
        "%n": host.name,
        "%p": str(host.port),
        "%r": host.user,
        "%u": getpass.getuser(),
    }
    tokens = set(re.findall(r"%.", text))
    if not tokens <= known.keys() or "${" in text:
        return None
    text = re.sub(r"%.", lambda token: known[token.group()], text)
    return Path(home, text[2:]) if text.startswith("~/") else Path(text)
