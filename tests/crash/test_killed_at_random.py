"""`kill -9` at random times of the real program: what was committed stays, what was not is finished.

`SCRATCHFLOW_KILLS` says how often (default: few enough for every run of the suite).
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("SCRATCHFLOW_KILLS", "25"))


class Program:
    """The program with a profile of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.work = directory / "scratch/work"
        self.work.mkdir(parents=True)
        (directory / "config.toml").write_text(
            '[profiles.test]\nscheduler = "none"\n'
            f'scratch = "{directory}/scratch"\nstore = "{directory}/store"\n'
            "[profiles.test.backup]\nkeep_last = 100000\n"
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        config = ["--config", str(self.directory / "config.toml"), "--quiet"]
        return subprocess.Popen(
            [sys.executable, "-m", "scratchflow", *arguments, *config],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str) -> str:
        process = self.start(*arguments)
        output, _ = process.communicate()
        assert process.returncode == 0, output
        return output

    def killed(self, after_s: float, *arguments: str) -> bool:
        """Whether the kill came before the end."""
        process = self.start(*arguments)
        time.sleep(after_s)  # the one thing here that is about time: when the power goes
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return process.returncode == -signal.SIGKILL

    def ids(self) -> list[str]:
        return sorted(path.stem for path in (self.directory / "store/work").glob("*Z-*.json"))


def state_of(directory: Path) -> str:
    """A digest over names and contents."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        digest.update(str(path.relative_to(directory)).encode() + b"\0")
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def duration_s(program: Program, *arguments: str) -> float:
    started = time.monotonic()
    program.run(*arguments)
    return time.monotonic() - started


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    randomness = random.Random(7)  # noqa: S311 - data, not secrets
    for number in range(300):
        file = program.work / f"dir-{number % 20}" / f"file-{number}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(randomness.randbytes(randomness.choice([100, 5_000, 200_000])))
    return program


def change(program: Program, number: int) -> None:
    for name in range(number % 7, 300, 7):
        path = program.work / f"dir-{name % 20}" / f"file-{name}"
        size = path.stat().st_size
        path.write_bytes((b"%d " % number * size)[:size])


def test_killed_backup_leaves_previous_snapshot_restorable(
    program: Program, tmp_path: Path
) -> None:
    whole_s = duration_s(program, "backup")
    committed = {program.ids()[-1]: state_of(program.work)}
    randomness = random.Random(1)  # noqa: S311 - data, not secrets
    kills = 0
    for number in range(KILLS):
        change(program, number)
        kills += program.killed(randomness.uniform(0, 1.3 * whole_s), "backup", "--full")
        newest = program.ids()[-1]
        committed.setdefault(newest, state_of(program.work))
        if number % 5 == 4:
            shutil.rmtree(tmp_path / "back", ignore_errors=True)
            program.run("restore", newest, "--to", str(tmp_path / "back"))
            assert state_of(tmp_path / "back/work") == committed[newest]
    assert kills > KILLS / 4, "hardly any kill hit: the test tests nothing"
    assert "0 damaged" in program.run("snapshots", "verify")
    program.run("backup")
    leftovers = [path.name for path in (tmp_path / "store/work").glob(".tmp-*")]
    assert leftovers == []


def test_killed_restore_leaves_old_or_new_and_the_next_one_completes(
    program: Program, tmp_path: Path
) -> None:
    program.run("backup")
    first, old = program.ids()[0], state_of(program.work)
    for number in range(6):
        change(program, number)
    program.run("backup")
    second, new = program.ids()[-1], state_of(program.work)
    whole_s = duration_s(program, "restore", first)
    randomness = random.Random(2)  # noqa: S311 - data, not secrets
    kills = 0
    for number in range(KILLS // 2):
        wanted, state = (second, new) if number % 2 == 0 else (first, old)
        kills += program.killed(randomness.uniform(0, 1.3 * whole_s), "restore", wanted)
        refused = subprocess.run(
            [
                sys.executable,
                "-m",
                "scratchflow",
                "backup",
                "--config",
                str(tmp_path / "config.toml"),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        half_done = (tmp_path / "scratch/.scratchflow/work/restoring.json").exists()
        assert refused.returncode == (37 if half_done else 0), refused.stderr
        program.run("restore", wanted)
        assert state_of(program.work) == state
    assert kills > KILLS / 8, "hardly any kill hit: the test tests nothing"


def test_killed_full_restore_never_shows_half_a_workspace(program: Program, tmp_path: Path) -> None:
    program.run("backup")
    state = state_of(program.work)
    aside = tmp_path / "aside"
    program.work.rename(aside)
    whole_s = duration_s(program, "restore")
    randomness = random.Random(3)  # noqa: S311 - data, not secrets
    for _ in range(KILLS // 2):
        shutil.rmtree(program.work, ignore_errors=True)
        program.killed(randomness.uniform(0, 1.2 * whole_s), "restore")
        assert not program.work.exists() or state_of(program.work) == state
        program.run("restore")
        assert state_of(program.work) == state
