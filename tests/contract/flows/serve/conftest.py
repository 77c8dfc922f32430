"""One machine with the real program, a workspace and a server in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving import write_program

ROOT = Path(__file__).resolve().parents[4]


class Machine:
    """The real program with a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = home / ".local/share/scratchflow/scratch/work"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in {"LANG", "PATH"}}
        return {**kept, "HOME": str(self.home), "TMUX_TMPDIR": str(self.home), "GREETING": "hello"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "scratchflow", *arguments],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def lines(self, *arguments: str) -> list[dict[str, Any]]:
        before, mark, after = (
            (arguments[: arguments.index("--")], ("--",), arguments[arguments.index("--") + 1 :])
            if "--" in arguments
            else (arguments, (), ())
        )
        done = self.run(*before, "--json", *mark, *after)
        lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines[-1]["exit_code"] == done.returncode
        return lines

    def data(self, *arguments: str) -> dict[str, Any]:
        last = self.lines(*arguments)[-1]
        assert last["type"] == "summary", last
        found: dict[str, Any] = last["data"]
        return found

    def serve(self, *options: str, place: str = "{socket}") -> dict[str, Any]:
        """Starts the test's server."""
        return self.data("serve", *options, "--", sys.executable, "pages.py", place)


@pytest.fixture
def machine() -> Iterator[Machine]:
    made = Machine(Path(tempfile.mkdtemp(prefix="machine-")))
    made.data("create")
    write_program(made.work)
    yield made
    made.run("serve", "stop", "--all")
    shutil.rmtree(made.home)


def port_of(url: str) -> int:
    return int(url.split(":")[2].partition("/")[0])
