"""`backup` of a workspace that lost most of its files: the question on a terminal, and what an answer does."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.cli import backup_call as cli
from scratchflow.cli import questions
from scratchflow.model.errors.by_code import error_from_agent
from scratchflow.model.errors.workspace import ShrinkGuard

ROOT = Path(__file__).resolve().parents[3]


class Machine:
    """The real program with a home of its own."""

    def __init__(self, home: Path) -> None:
        self.environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "dumb"}
        self.work = home / ".local/share/scratchflow/scratch/work"
        self.work.mkdir(parents=True)
        for number in range(10):
            (self.work / str(number)).write_text("x")
        assert self.json("backup")["exit_code"] == 0
        for number in range(9):
            (self.work / str(number)).unlink()

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "scratchflow", *arguments]

    def json(self, *arguments: str) -> dict[str, object]:
        done = subprocess.run(
            self.argv(*arguments, "--json"),
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        last: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        assert last["exit_code"] == done.returncode
        return last

    def on_terminal(self, answer: bytes) -> tuple[int, str]:
        """Exit code, and everything that was on the screen."""
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            self.argv("backup"),
            cwd=ROOT,
            env=self.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
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


def test_a_person_on_a_terminal_is_asked_and_decides(machine: Machine) -> None:
    code, seen = machine.on_terminal(b"n\n")
    assert code == 36
    assert "10 files" in seen
    assert "only as long as the usual rules keep it" in " ".join(seen.split())
    code, seen = machine.on_terminal(b"\x04")
    assert code == 36
    code, seen = machine.on_terminal(b"y\n")
    assert code == 0, seen
    assert "9 files removed" in seen
    assert machine.json("backup")["exit_code"] == 0


def test_where_nobody_can_answer_nothing_is_saved(machine: Machine) -> None:
    refused = machine.json("backup")
    assert (refused["code"], refused["exit_code"]) == ("backup.shrink_guard", 36)


def test_the_question_is_asked_also_about_what_an_agent_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = error_from_agent(
        "backup.shrink_guard", "it shrank", "go on so", retryable=False, exit_code=36
    )
    assert isinstance(result, ShrinkGuard)
    monkeypatch.setattr(questions, "confirmed", lambda *_: True)
    assert cli._agrees(lambda _: None, result)
    assert "it shrank\ngo on so\n" in capsys.readouterr().err
