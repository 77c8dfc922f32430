"""A login host and a node behind it, both on loopback, with keys and an ssh config of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scratchflow.ssh.config.resolve import resolve_chain
from scratchflow.ssh.transport.openssh import OpenSshTransport
from scratchflow.ssh.transport.paramiko_login import Ask
from scratchflow.ssh.transport.paramiko_transport import ParamikoTransport
from tests.contract.transports.sshd import USER, Sshd, make_key

PASSPHRASE = "correct horse"  # noqa: S105 - locks a key that lives as long as the test


@dataclass
class Lab:
    """`login` is reached at once, `node` through `login`; `known_hosts` holds both keys."""

    directory: Path
    login: Sshd
    node: Sshd

    @classmethod
    def build(cls, directory: Path, options: list[str] | None = None) -> Lab:
        directory.mkdir(exist_ok=True)
        authorized = directory / "authorized_keys"
        make_key(directory / "id")
        make_key(directory / "locked", passphrase=PASSPHRASE)
        keys = [(directory / name).read_text() for name in ("id.pub", "locked.pub")]
        authorized.write_text("".join(keys))
        lab = cls(
            directory,
            Sshd(directory / "login", authorized, list(options or [])),
            Sshd(directory / "node", authorized, list(options or [])),
        )
        lab.login.start()
        lab.node.start()
        lab.known_hosts.write_text("".join(map(lab.known_line, (lab.login, lab.node))))
        lab.write_config()
        return lab

    @property
    def known_hosts(self) -> Path:
        return self.directory / "known_hosts"

    @property
    def config(self) -> Path:
        return self.directory / "config"

    @property
    def environment(self) -> Mapping[str, str]:
        """No agent, and shared connections in a directory of this lab."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return {**kept, "XDG_RUNTIME_DIR": str(self.directory)}

    @staticmethod
    def known_line(sshd: Sshd) -> str:
        return f"[127.0.0.1]:{sshd.port} {sshd.public_key}\n"

    def write_config(self, extra: str = "", *, key: str = "id", agent: str = "none") -> None:
        """`extra` comes first, and in ssh the first value wins."""
        hosts = [("login", self.login, ""), ("node", self.node, "  ProxyJump login\n")]
        blocks = [
            f"Host {name}\n  HostName 127.0.0.1\n  Port {sshd.port}\n{jump}"
            for name, sshd, jump in hosts
        ]
        common = (
            f"Host *\n  User {USER}\n  IdentityFile {self.directory / key}\n"
            f"  IdentityAgent {agent}\n"
            f"  UserKnownHostsFile {self.known_hosts}\n  GlobalKnownHostsFile /dev/null\n"
        )
        self.config.write_text(extra + "".join(blocks) + common)

    def paramiko(self, host: str, ask: Ask | None = None) -> ParamikoTransport:
        chain = resolve_chain(host, config=self.config)
        return ParamikoTransport(chain, environment=self.environment, ask=ask)

    def openssh(self, host: str, keep_s: int = 0) -> OpenSshTransport:
        chain = resolve_chain(host, config=self.config)
        return OpenSshTransport(chain, environment=self.environment, keep_s=keep_s)

    def transport(self, kind: str, host: str) -> ParamikoTransport | OpenSshTransport:
        return self.paramiko(host) if kind == "paramiko" else self.openssh(host)

    def close(self) -> None:
        self.login.kill()
        self.node.kill()
