"""The real program, and a configuration file that the user wrote."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from scratchflow.testing.slurm_programs import SlurmPrograms

ROOT = Path(__file__).resolve().parents[3]
FILE = """\
# mine
default_profile = "uni"

[profiles.uni]
store = "/fsx/s"  # large
[profiles.uni.slurm]
gpus = 2
extra = ["--oversubscribe"]
[profiles.uni.environment]
variables = { CCACHE_DIR = "/tmp/c" }
"""


class Machine:
    """A home with that file; its profile's login host is this machine, with the fake Slurm."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.file = home / ".config/scratchflow/config.toml"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(FILE)
        (home / "bin").mkdir()
        self.programs = SlurmPrograms(home / "bin", getpass.getuser())

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{self.home}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "scratchflow", *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def outcome(self, *arguments: str) -> dict[str, Any]:
        last: dict[str, Any] = json.loads(self.run(*arguments, "--json").stdout.splitlines()[-1])
        return last

    def data(self, *arguments: str) -> dict[str, Any]:
        last = self.outcome(*arguments)
        assert last["type"] == "summary", last
        found: dict[str, Any] = last["data"]
        return found
