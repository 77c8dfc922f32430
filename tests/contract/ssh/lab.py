"""A login host and a node behind it, both on loopback, with keys and an ssh config of their own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scratchflow.model.allocation import RunningAllocation
from scratchflow.reach.node import JobStep, NodeSsh
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.resolve import resolve_chain
from scratchflow.ssh.keys.known_hosts import remember_node
from scratchflow.ssh.transport.openssh import OpenSshTransport
from scratchflow.ssh.transport.paramiko_login import Ask
from scratchflow.ssh.transport.paramiko_transport import ParamikoTransport
from tests.contract.ssh.sshd import USER, Sshd, make_key

PASSPHRASE = "correct horse"  # noqa: S105 - locks a key that lives as long as the test

_ALLOCATION = RunningAllocation(job_id=7, name="lab", state="running", nodes=("login",))
# One task as `srun` runs it: past the options, with its code.
_SRUN = """
while case $1 in -*) true;; *) false;; esac; do shift; done
"$@"
"""


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

    def openssh(self, host: str, keep_s: int = 0, *, shared: bool = True) -> OpenSshTransport:
        chain = resolve_chain(host, config=self.config)
        return OpenSshTransport(chain, environment=self.environment, keep_s=keep_s, shared=shared)

    def transport(self, kind: str, host: str) -> ParamikoTransport | OpenSshTransport:
        """`plain` is an ssh that shares no connection."""
        if kind == "paramiko":
            return self.paramiko(host)
        return self.openssh(host, shared=kind == "openssh")

    def job_step(self) -> JobStep:
        """The step of a job, with an `srun` that runs it on this machine."""
        return JobStep(_ALLOCATION, self._with_program("srun", _SRUN))

    def node_ssh(self) -> NodeSsh:
        """The ssh from a login host to its node, which the config of this lab leads to `login`."""
        keys = SshPaths.of(self.directory / "node-keys/config")
        remember_node(keys, "lab", _ALLOCATION.node, [f"login {self.login.public_key}"])
        ssh = f'exec {shutil.which("ssh")} -F {self.config} "$@"\n'
        environment = self._with_program("ssh", ssh)
        return NodeSsh(_ALLOCATION, "lab", environment, keys=keys)

    def _with_program(self, name: str, script: str) -> dict[str, str]:
        """The environment of a host whose program of that name is this script."""
        folder = self.directory / "bin"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{script}")
        (folder / name).chmod(0o755)
        return {**self.environment, "PATH": f"{folder}:{self.environment['PATH']}"}

    def close(self) -> None:
        self.login.kill()
        self.node.kill()
