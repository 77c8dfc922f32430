"""Private sshds on loopback: real host keys, real logins as the current user, nothing of the system's.

Needs Debian's openssh-server for `sshd`, and openssh-client for `ssh`, `ssh-keygen`, `ssh-agent`.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
USER = getpass.getuser()


@dataclass
class Sshd:
    """One sshd with a host key of its own."""

    directory: Path
    authorized_keys: Path
    options: list[str] = field(default_factory=list)
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def host_key(self) -> Path:
        return self.directory / "host_key"

    @property
    def public_key(self) -> str:
        """Kind and key, as in a known-hosts file."""
        return " ".join(self.host_key.with_suffix(".pub").read_text().split()[:2])

    def start(self) -> None:
        """Starts it on a free port, or on the port it had before; returns when it answers."""
        assert SSHD, "sshd is not installed: apt-get install openssh-server"
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where it gives its rights up
        self.directory.mkdir(exist_ok=True)
        if not self.host_key.exists():
            make_key(self.host_key)
        self.port = self.port or free_port()
        config = self.directory / "sshd_config"
        config.write_text("\n".join(self._settings()) + "\n")
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self._await_banner()

    def kill(self) -> None:
        """Ends it and every connection it serves, as a power cut would: nobody is told goodbye."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGSTOP)  # no new child while we look for them
        everybody = [*_descendants(self.process.pid), self.process.pid]
        # All stand still first: one that sees its command die would tell of it.
        for signum in (signal.SIGSTOP, signal.SIGKILL):
            for pid in everybody:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signum)
        self.process.wait()
        self.process = None

    def freeze(self) -> None:
        """Stops it in its tracks: connections stay up and nobody answers."""
        assert self.process
        for pid in [*_descendants(self.process.pid), self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def new_host_key(self) -> None:
        """Gives it another host key; in force after a restart."""
        self.host_key.unlink()
        make_key(self.host_key)

    def log(self) -> str:
        return (self.directory / "log").read_text(errors="replace")

    def _settings(self) -> list[str]:
        return [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.host_key}",
            f"AuthorizedKeysFile {self.authorized_keys}",
            f"PidFile {self.directory / 'pid'}",
            "StrictModes no",
            "UsePAM no",
            "PermitRootLogin yes",
            # bash takes itself for a deeper shell and leaves the user's start-up files alone: they
            # are slow, and may hold locks when a test kills them.
            "SetEnv SHLVL=5",
            "MaxStartups 200",
            "MaxSessions 200",
            *(self.options or ["PasswordAuthentication no", "KbdInteractiveAuthentication no"]),
        ]

    def _await_banner(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection,
            ):
                if connection.recv(8).startswith(b"SSH-2.0"):
                    return
            if self.process and self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"sshd does not answer: {self.log()}")


def make_key(path: Path, *, passphrase: str = "", kind: str = "ed25519", bits: int = 256) -> None:
    """A key pair; a few rounds only, since nothing depends on the passphrase's strength."""
    form = ["-t", kind, "-b", str(bits), "-a", "2", "-C", "test"]
    subprocess.run(["ssh-keygen", "-q", *form, "-N", passphrase, "-f", str(path)], check=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _descendants(pid: int) -> list[int]:
    shown = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    children = [int(word) for word in shown.stdout.split()]
    return [*(deeper for child in children for deeper in _descendants(child)), *children]
