"""A newcomer's laptop: an empty home but for ssh, and a terminal to type into."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.minicluster import Minicluster
from tests.terminal import SMALL, Terminal

PASSWORD = "correct horse"  # noqa: S105 - of an account that lives as long as the test
PASSWORD_PORT = 2222


class Newcomer:
    """Knows the hosts `login` and `closed`, where nothing listens; has a key that the cluster knows."""

    def __init__(self, home: Path, cluster: Minicluster) -> None:
        self.home = home
        self.cluster = cluster
        self.ssh = home / ".ssh"
        self.ssh.mkdir(mode=0o700)
        # Sockets of shared connections: their paths have to be short.
        self.runtime = Path(tempfile.mkdtemp(prefix="sf-"))
        self.give_key()
        self.meet_host()
        self.write_config()

    def write_config(self, port: int = 22) -> None:
        about = [
            f"HostName {self.cluster.address}",
            "User alice",
            f"IdentityFile {self.key}",
            "IdentitiesOnly yes",
            f"UserKnownHostsFile {self.ssh / 'known_hosts'}",
            "GlobalKnownHostsFile /dev/null",
        ]
        hosts = {"login": port, "closed": 1}
        blocks = [
            f"Host {name}\n" + "".join(f"  {line}\n" for line in [*about, f"Port {number}"])
            for name, number in hosts.items()
        ]
        config = self.ssh / "config"
        config.write_text("".join(blocks))
        config.chmod(0o600)

    @property
    def key(self) -> Path:
        return self.ssh / "id_ed25519"

    def give_key(self) -> None:
        for name in ("id_ed25519", "id_ed25519.pub"):
            shutil.copy(self.cluster.state / "laptop" / name, self.ssh / name)

    def take_key(self) -> None:
        for name in ("id_ed25519", "id_ed25519.pub"):
            (self.ssh / name).unlink()

    def meet_host(self) -> None:
        shutil.copy(self.cluster.state / "laptop/known_hosts", self.ssh / "known_hosts")

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        places = {"XDG_RUNTIME_DIR": str(self.runtime), "XDG_CACHE_HOME": str(self.cluster.cache)}
        return {**kept, **places, "HOME": str(self.home)}

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "scratchflow", *arguments]

    def types(self, *arguments: str, size: tuple[int, int] = SMALL) -> Terminal:
        return Terminal(self.argv(*arguments), self.environment, size=size)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Without a terminal."""
        return subprocess.run(
            self.argv(*arguments),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def run_ssh(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The system's own ssh, with this laptop's config."""
        argv = ["ssh", "-F", str(self.ssh / "config"), *arguments]
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    def killed_after(self, events: int, *arguments: str) -> bool:
        """Runs it and kills it when it has told this many events; False when it ended before."""
        with subprocess.Popen(
            self.argv(*arguments),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            for _ in range(events + 1):
                if b'"exit_code"' in (process.stdout.readline() or b'"exit_code"'):
                    return False
            process.kill()
        return True

    @property
    def config(self) -> str:
        path = self.home / ".config/scratchflow/config.toml"
        return path.read_text() if path.exists() else ""

    def files(self) -> dict[str, bytes]:
        """Everything in the home."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in self.home.rglob("*")
            if path.is_file()
        }

    def on_cluster(self) -> str:
        """What is in the account's directory of ours on the login host."""
        listed = self.cluster.login("ls", "-A", ".local/share/scratchflow", check=False)
        return str(listed.stdout)

    def leave(self) -> None:
        """Ends the shared connections, which would outlive the test by hours."""
        for socket in (self.runtime / "scratchflow").glob("*"):
            subprocess.run(
                ["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "x"],
                capture_output=True,
                check=False,
            )
        shutil.rmtree(self.runtime, ignore_errors=True)


@contextmanager
def password_door(cluster: Minicluster) -> Iterator[None]:
    """A second sshd on the login host, which takes alice's password."""
    door = f"/usr/sbin/sshd -p {PASSWORD_PORT} -o PasswordAuthentication=yes -o UsePAM=no"
    pid = "/run/door.pid"
    cluster.exec("login", "sh", "-c", f"echo 'alice:{PASSWORD}' | chpasswd")
    cluster.exec("login", "sh", "-c", f"{door} -o PidFile={pid} -E /var/log/door.log")
    try:
        yield
    finally:
        cluster.exec("login", "sh", "-c", f"kill $(cat {pid})")


def steady(rows: list[str]) -> list[str]:
    """The screen without what differs from run to run: sizes, jobs, times and ids."""
    changing = {
        r"\d[\d.]* [KMGT]iB": "N GiB",
        r"\bjob \d+": "job N",
        r"until \S+Z": "until TIME",
        r"\d{8}T\d{6}Z-[0-9a-f]{6}": "ID",
        r"node-\d": "node-N",
    }
    text = "\n".join(rows)
    for pattern, word in changing.items():
        text = re.sub(pattern, word, text)
    return [" ".join(row.split()) for row in text.split("\n")]
