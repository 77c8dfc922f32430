"""A laptop that has nothing but ssh: a home of its own, whose ssh config knows the cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cluster.minicluster import Minicluster

SETUP = ("setup", "login", "--name", "mini", "--store", "/fsx/$USER/store", "--partition", "debug")
# The minicluster's partition gives ten minutes at most.
SHORT = ("--set", "slurm.time=10:00")


class Laptop:
    """Runs the real program there, as a user types it."""

    def __init__(self, home: Path, cluster: Minicluster) -> None:
        self.home, self.cluster = home, cluster
        self.ssh_config = home / ".ssh" / "config"
        self.ssh_config.parent.mkdir(mode=0o700)
        self.ssh_config.write_bytes(cluster.ssh_config.read_bytes())
        self.ssh_config.chmod(0o600)

    @property
    def environment(self) -> dict[str, str]:
        places = {f"XDG_{kind}_HOME": str(self.home / kind) for kind in ("CONFIG", "DATA", "STATE")}
        cache = {"XDG_CACHE_HOME": str(self.cluster.cache)}
        return {**os.environ, **places, **cache, "HOME": str(self.home)}

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "scratchflow", *arguments]

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts it; whoever does ends it."""
        return subprocess.Popen(
            self.argv(*arguments),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        with self.begin(*arguments) as process:
            stdout, stderr = process.communicate()
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def lines(self, *arguments: str) -> list[dict[str, Any]]:
        done = self.run(*arguments, "--json")
        lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines[-1]["exit_code"] == done.returncode
        return lines

    def outcome(self, *arguments: str) -> dict[str, Any]:
        """The last line: how it ended."""
        return self.lines(*arguments)[-1]

    def data(self, *arguments: str) -> dict[str, Any]:
        """What it handed back; it must have worked."""
        last = self.outcome(*arguments)
        assert last["type"] == "summary", last
        found: dict[str, Any] = last["data"]
        return found

    def ssh(self, *command: str) -> subprocess.CompletedProcess[str]:
        """The alias, by the system's own ssh."""
        argv = ["ssh", "-F", str(self.ssh_config), "-o", "BatchMode=yes", "compile_machine"]
        return subprocess.run(
            [*argv, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*"))
