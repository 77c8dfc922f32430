"""What the scripts promise their readers: the demo runs what it shows, a server of the system counts as installed, and
what runs beside something else is neither lost nor left."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "/usr/local/sbin:/usr/sbin:/sbin"


def bash(script: str) -> subprocess.CompletedProcess[str]:
    argv = ["bash", "-c", script]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    return subprocess.run(
        argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_the_demo_runs_the_command_that_it_shows() -> None:
    text = (ROOT / "scripts/demo").read_text()
    functions = re.findall(r"^(?:step_sf|shown)\(\) \{\n.*?^\}\n", text, re.MULTILINE | re.DOTALL)
    assert len(functions) == 2
    told = bash("".join(functions) + 'scratchflow() { echo "ran: $*"; }; step_sf look status -v')
    assert told.stdout.endswith("$ scratchflow status -v\nran: status -v\n")


def test_a_program_outside_an_ordinary_users_path_counts_as_installed() -> None:
    if not shutil.which("sshd", path=SYSTEM):
        pytest.skip("this machine has no sshd")
    # Should it be missed, nothing is installed: the test says so instead.
    done = bash(". scripts/lib.sh; apt_install() { echo missed; }; need sshd=openssh-server")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(("end", "code"), [("true", 0), ("exit 3", 3)])
def test_what_runs_beside_is_shown_when_it_is_joined_and_fails_as_it_did(
    end: str, code: int
) -> None:
    part = f"part() {{ echo beside; {end}; }}"
    script = f"set -e; . scripts/lib.sh; {part}; beside part; echo here >&2; join; echo joined"
    done = bash(script)
    assert (done.returncode, done.stderr) == (code, "here\nbeside\n")
    assert (done.stdout == "joined\n") is (code == 0)


def test_what_runs_beside_ends_with_a_script_that_fails() -> None:
    """With all that it started: that has a pipe open, whose end this test waits for."""
    part = "part() { sleep 3600 >&3 & echo on; wait; }"
    script = f"set -e; exec 3>&1; . scripts/lib.sh; {part}; beside part"
    assert bash(f"{script}; until [ -s $SAID ]; do sleep 0.02; done; false").returncode == 1
