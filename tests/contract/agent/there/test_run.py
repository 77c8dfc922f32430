"""What starts the agent: its own files before the host's, noted as used, with a clean library path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.agent.there import run

SAYS = """
import os, sys
def main():
    print(sys.argv, os.environ.get("LD_LIBRARY_PATH"), "RESTORE" in str(os.environ))
"""
RESTORE = "SCRATCHFLOW_RESTORE_LD_LIBRARY_PATH"


@pytest.fixture
def part(tmp_path: Path) -> Path:
    """An agent's part whose package says what it was given."""
    part = tmp_path / "1.0-abc/cp311-x86_64"
    package = part / "lib/scratchflow/cli"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "main.py").write_text(SAYS)
    shutil.copy(run.__file__, part / "run.py")
    return part


def said(part: Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-S", part / "run.py", "agent"],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_package_beside_it_runs_and_nothing_of_the_hosts(part: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "host/scratchflow"
    foreign.mkdir(parents=True)
    (foreign / "__init__.py").write_text("raise SystemExit('a foreign file')")
    words = said(part, tmp_path / "host", PYTHONPATH=str(tmp_path / "host"))
    assert words == "['scratchflow', 'agent'] None False\n"


@pytest.mark.parametrize(
    ("environment", "after"),
    [
        ({"LD_LIBRARY_PATH": "/python's", RESTORE: "/mine"}, "/mine"),
        ({"LD_LIBRARY_PATH": "/python's", RESTORE: ""}, "None"),
        ({"LD_LIBRARY_PATH": "/mine"}, "/mine"),
    ],
)
def test_what_python_needed_does_not_reach_what_it_starts(
    part: Path, environment: dict[str, str], after: str
) -> None:
    assert said(part, part, **environment) == f"['scratchflow', 'agent'] {after} False\n"


def test_use_is_noted_once_a_day(part: Path) -> None:
    agent = part.parent
    os.utime(agent, (0, 0))
    said(part, part)
    used = agent.stat().st_mtime
    assert used > 1e9
    os.utime(agent, (used - 3600, used - 3600))
    said(part, part)
    assert agent.stat().st_mtime == used - 3600
