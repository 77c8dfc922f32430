"""Places for a mirror, each behind the real program that serves it: sshd (sftp), `rclone serve webdav`, a directory."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from scratchflow.cluster.rclone.remote import Remote
from tests.contract.ssh.sshd import Sshd, free_port, make_key

UP_S = 30.0


class Server(Protocol):
    """Serves the files beneath `files`; `remote` is what rclone calls it."""

    files: Path

    @property
    def remote(self) -> str: ...

    def start(self) -> None: ...
    def kill(self) -> None: ...


class Sftp:
    """A real sshd, with a key of its own for us."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.files = directory / "files"
        self.files.mkdir()
        key = directory / "key"
        make_key(key)
        authorized = directory / "authorized_keys"
        authorized.write_text(key.with_suffix(".pub").read_text())
        options = ["Subsystem sftp internal-sftp"]
        self._sshd = Sshd(directory / "sshd", authorized, options=options, port=free_port())
        self._key = key

    @property
    def remote(self) -> str:
        user = f"user={_user()},key_file={self._key},disable_hashcheck=true"
        return f":sftp,host=127.0.0.1,port={self._sshd.port},{user}:{self.files}/mirror"

    def start(self) -> None:
        self._sshd.start()

    def kill(self) -> None:
        self._sshd.kill()


class Webdav:
    """`rclone serve webdav`."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.files = directory / "files"
        self.files.mkdir()
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def remote(self) -> str:
        return f':webdav,url="http://127.0.0.1:{self._port}",vendor=other:mirror'

    def start(self) -> None:
        address = f"127.0.0.1:{self._port}"
        self._process = subprocess.Popen(
            ["rclone", "serve", "webdav", "--addr", address, "--dir-cache-time", "0", self.files],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + UP_S
        while not _answers(self._port):
            assert time.monotonic() < deadline, "rclone serve webdav does not answer"
            time.sleep(0.05)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None


class Directory:
    """A directory of this machine, as of a disk that is mounted."""

    def __init__(self, directory: Path) -> None:
        self.files = directory
        self.files.mkdir()

    @property
    def remote(self) -> str:
        return f"{self.files}/mirror"

    def start(self) -> None:
        """Nothing serves it."""

    def kill(self) -> None:
        """Nothing serves it."""


SERVED: dict[str, Callable[[Path], Server]] = {"sftp": Sftp, "webdav": Webdav}


def at(server: Server, **variables: str) -> Remote:
    """The place as rclone reaches it, with more variables for it."""
    environment = {**os.environ, **variables}
    return Remote(directory=server.remote, program="rclone", environment=environment)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name
