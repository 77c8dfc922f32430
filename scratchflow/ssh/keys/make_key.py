"""A key of the user's own: made here, and put where the cluster's sshd looks for it."""

from __future__ import annotations

import getpass
import os
import shlex
import socket
import subprocess
from pathlib import Path

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.model.text import last_line
from scratchflow.ssh.config.alias import make_private_directory

_TIMEOUT_S = 60.0


def make_key(path: Path) -> None:
    """Makes an ed25519 key without a passphrase; a file that is there is never replaced."""
    make_private_directory(path.parent)
    # ssh-keygen asks before it replaces the private half, and not before it replaces the public one.
    for half in (path, path.with_name(f"{path.name}.pub")):
        if os.path.lexists(half):
            remedy = "log in with the key that it belongs to, or move it away"
            raise SshConfigRefused(path=half, reason="there is a file already", remedy=remedy)
    comment = f"{getpass.getuser()}@{socket.gethostname()}"
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _refusal(path, str(error)) from None
    if done.returncode != 0:
        raise _refusal(path, last_line(done.stderr) or "ssh-keygen failed")


def authorize_script(public: str) -> bytes:
    """For `sh -s` on the cluster: adds the key to those that may log in; one that is there stays."""
    return f"""
umask 077
key={shlex.quote(public)}
mkdir -p "$HOME/.ssh" || exit 1
file=$HOME/.ssh/authorized_keys
if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then echo >>"$file" || exit 1; fi
grep -qxF -- "$key" "$file" 2>/dev/null || printf '%s\\n' "$key" >>"$file"
""".encode()


# Prints each path for whose sake sshd would pass over every key: others may write to it.
LOOSE_SCRIPT = b"""
for path in "$HOME" "$HOME/.ssh" "$HOME/.ssh/authorized_keys"; do
    found=$(find "$path" -maxdepth 0 \\( -perm -020 -o -perm -002 \\) 2>/dev/null)
    [ -z "$found" ] || printf 'scratchflow-loose\\t%s\\n' "$path"
done
"""

TIGHTEN_SCRIPT = b"""
for path in "$HOME" "$HOME/.ssh" "$HOME/.ssh/authorized_keys"; do
    [ ! -e "$path" ] || chmod go-w "$path" || exit 1
done
"""


def loose_paths(said: bytes) -> list[str]:
    """What `LOOSE_SCRIPT` printed, between whatever login shells say."""
    lines = said.decode("utf-8", "surrogateescape").splitlines()
    mark = "scratchflow-loose\t"
    return [line.removeprefix(mark) for line in lines if line.startswith(mark)]


def _refusal(path: Path, reason: str) -> SshConfigRefused:
    remedy = f"make a key by hand: `ssh-keygen -t ed25519 -f {path}`"
    return SshConfigRefused(path=path, reason=reason, remedy=remedy)
