"""`snapshots prune ID` on a terminal: the question says what goes, and removes exactly that."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


class Machine:
    """The real program with a home of its own and two snapshots, the older one named."""

    def __init__(self, home: Path) -> None:
        self.environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "dumb"}
        self.work = home / ".local/share/scratchflow/scratch/work"
        self.work.mkdir(parents=True)
        (self.work / "a").write_text("1")
        self.named = self.json("backup", "-m", "submitted version")["data"]["snapshot"]
        (self.work / "a").write_text("2")
        self.newest = self.json("backup")["data"]["snapshot"]

    @property
    def ids(self) -> list[str]:
        return [one["id"] for one in self.json("snapshots", "list")["data"]["snapshots"]]

    def json(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "scratchflow", *arguments, "--json"],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return last

    def prune(self, wanted: str, answer: bytes) -> tuple[int, str]:
        """Exit code, and everything that was on the screen."""
        ours, theirs = pty.openpty()
        argv = [sys.executable, "-m", "scratchflow", "snapshots", "prune", wanted]
        with subprocess.Popen(
            argv, cwd=ROOT, env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            seen = b""
            answered = False
            while piece := _read(ours):
                seen += piece
                if not answered and b"[y/N]" in seen:
                    os.write(ours, answer)
                    answered = True
        os.close(ours)
        return process.returncode, seen.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("answer", [b"n\n", b"\x04"])
def test_a_no_shows_what_would_have_gone_and_removes_nothing(
    machine: Machine, answer: bytes
) -> None:
    code, seen = machine.prune(machine.named[:15], answer)
    assert code == 2
    shown = next(line for line in seen.splitlines() if machine.named[-6:] in line)
    assert all(word in shown for word in ("1 file, 1 B", '"submitted version"', "[named"))
    assert "nothing was removed" in seen
    assert "--yes" not in seen
    assert seen.count("no configuration file yet") == 1
    assert machine.ids == [machine.named, machine.newest]


def test_a_yes_removes_the_snapshot_that_was_shown(machine: Machine) -> None:
    code, seen = machine.prune(machine.named[:15], b"y\n")
    assert code == 0, seen
    assert machine.ids == [machine.newest]


@pytest.mark.parametrize(("wanted", "exit_code"), [("no-such", 30), ("2", 30)])
def test_an_id_that_is_unknown_or_ambiguous_fails_before_the_question(
    machine: Machine, wanted: str, exit_code: int
) -> None:
    code, seen = machine.prune(wanted, b"y\n")
    assert code == exit_code
    assert "[y/N]" not in seen
    assert machine.ids == [machine.named, machine.newest]


def test_where_nobody_can_be_asked_nothing_is_removed(machine: Machine) -> None:
    refused = machine.json("snapshots", "prune", machine.named)
    assert (refused["code"], refused["exit_code"]) == ("snapshot.removal_unconfirmed", 2)
    assert f"{machine.named} --yes" in refused["hint"]
    assert machine.ids == [machine.named, machine.newest]
