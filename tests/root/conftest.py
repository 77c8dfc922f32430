"""The real program, run as root in a mount namespace of its own, or as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534


@dataclass
class Ended:
    """How the program ended and what it said."""

    exit_code: int
    last: dict[str, Any]
    lines: list[dict[str, Any]]


@dataclass
class Machine:
    """A profile of its own beneath a directory, for one user."""

    directory: Path
    uid: int = 0

    @property
    def scratch(self) -> Path:
        return self.directory / "scratch"

    @property
    def work(self) -> Path:
        return self.scratch / "work"

    def run(self, *arguments: str, before: Sequence[str] = ()) -> Ended:
        """Runs the program, after some shell lines in the same mount namespace."""
        program = [sys.executable, "-m", "scratchflow", *arguments, "--json"]
        program += ["--config", str(self.directory / "config.toml")]
        user = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
        script = "\n".join(["set -e", *before, 'exec "$@"'])
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", *user, *program],
            cwd=ROOT,
            env={**os.environ, "HOME": str(self.directory), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines, done.stderr
        return Ended(done.returncode, lines[-1], lines)

    def backup(self) -> str:
        ended = self.run("backup")
        assert ended.exit_code == 0, ended.last
        return str(ended.last["data"]["snapshot"])

    def write(self, path: str, content: str) -> Path:
        file = self.scratch / path
        missing = [parent for parent in file.parents if not parent.exists()]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        for made in (*missing, file):
            os.chown(made, self.uid, self.uid)
        return file


def _machine(uid: int) -> Iterator[Machine]:
    directory = Path(tempfile.mkdtemp(prefix="scratchflow-root-"))
    try:
        os.chmod(directory, 0o755)  # noqa: S103 - the other user has to get in
        os.chown(directory, uid, uid)
        (directory / "config.toml").write_text(
            f'[profiles.test]\nscheduler = "none"\nscratch = "{directory}/scratch"\n'
            f'store = "{directory}/store"\n'
        )
        machine = Machine(directory, uid)
        machine.write("work/README", "hello")
        machine.write("work/src/main.py", "print()")
        yield machine
    finally:
        shutil.rmtree(directory)


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine whose user is root."""
    yield from _machine(0)


@pytest.fixture
def others() -> Iterator[Machine]:
    """A machine whose user is not root."""
    yield from _machine(NOBODY)
