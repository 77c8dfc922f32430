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
from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.store.lock.chain import RELEASED_PREFIX

ROOT = Path(__file__).resolve().parents[3]
KILLS = int(os.environ.get("SCRATCHFLOW_KILLS", "10"))


def at_once() -> bool:
    return True


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

    def killed(self, after_s: float, *arguments: str, once: Callable[[], bool] = at_once) -> bool:
        """Whether the kill came before the end; the time counts from when `once` is true."""
        process = self.start(*arguments)
        while not once() and process.poll() is None:
            time.sleep(0.001)
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
    (program.work / "large").write_bytes(randomness.randbytes(12 << 20))
    return program


def change(program: Program, number: int) -> None:
    for name in range(number % 7, 300, 7):
        path = program.work / f"dir-{name % 20}" / f"file-{name}"
        size = path.stat().st_size
        path.write_bytes((b"%d " % number * size)[:size])
    large = program.work / "large"  # stored in chunks: a little is inserted, and some appended
    content = large.read_bytes()
    at = number * 400_000
    large.write_bytes(content[:at] + b"inserted %d" % number + content[at:] + b"x" * 5000)


@pytest.mark.parametrize("kind", ["--full", "--quiet"])  # the latter is incremental
def test_killed_backup_leaves_previous_snapshot_restorable(
    program: Program, tmp_path: Path, kind: str
) -> None:
    program.run("backup")
    change(program, KILLS)
    whole_s = duration_s(program, "backup", kind)
    committed = {program.ids()[-1]: state_of(program.work)}
    randomness = random.Random(1)  # noqa: S311 - data, not secrets
    kills = 0
    for number in range(KILLS):
        change(program, number)
        kills += program.killed(randomness.uniform(0, 1.3 * whole_s), "backup", kind)
        newest = program.ids()[-1]
        committed.setdefault(newest, state_of(program.work))
        if number % 5 == 4:
            shutil.rmtree(tmp_path / "back", ignore_errors=True)
            program.run("restore", newest, "--to", str(tmp_path / "back"))
            assert state_of(tmp_path / "back/work") == committed[newest]
    assert kills > KILLS / 4, "hardly any kill hit: the test tests nothing"
    program.run("snapshots", "verify")  # exit code 31 when one is damaged
    program.run("backup")
    leftovers = [path.name for path in (tmp_path / "store/work").glob(".tmp-*")]
    # A lock that was just being made may become somebody's: it goes when it is older.
    assert [name for name in leftovers if not name.startswith(RELEASED_PREFIX)] == []


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
    assert kills, "no kill hit: the test tests nothing"


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


def contents_of(directory: Path) -> set[bytes]:
    """Digests of all that lies beneath, under whatever name."""
    return {
        hashlib.sha256(path.read_bytes()).digest()
        for path in directory.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_killed_while_it_moves_aside_a_restore_of_paths_loses_nothing(
    program: Program, tmp_path: Path
) -> None:
    program.run("backup")
    (program.work / ".scratchignore").write_text("file-*\n")
    whole_s = duration_s(program, "restore", program.ids()[0], "--path", "work/dir-1")
    randomness = random.Random(4)  # noqa: S311 - data, not secrets
    kills = 0
    for number in range(KILLS // 2):
        written = set()
        for file in program.work.glob("dir-1/file-*[0-9]"):
            if ".before-" not in file.name:
                content = f"{number} {file.name} in no snapshot".encode()
                file.write_bytes(content)
                written.add(hashlib.sha256(content).digest())
        after_s = randomness.uniform(0.3, 0.9) * whole_s
        kills += program.killed(after_s, "restore", program.ids()[0], "--path", "work/dir-1")
        assert len(written) == 15
        assert written <= contents_of(tmp_path / "scratch/work")
    assert kills, "no kill hit: the test tests nothing"


def test_killed_while_it_is_abandoned_a_restore_can_be_abandoned_again(
    program: Program, tmp_path: Path
) -> None:
    program.run("backup")
    first = program.ids()[0]
    for number in range(6):
        change(program, number)
    program.run("backup")
    second = program.ids()[-1]
    whole_s = duration_s(program, "restore", first)
    note = tmp_path / "scratch/.scratchflow/work/restoring.json"

    def begin() -> None:
        """Leaves the note of a restore that was killed right after it had written it."""
        note.write_text(f'{{"snapshot": "{first}", "mode": "delta"}}')

    begin()
    abandoning_s = duration_s(program, "restore", "--abandon")
    randomness = random.Random(5)  # noqa: S311 - data, not secrets
    kills = 0
    for number in range(KILLS // 2):
        wanted = second if number % 2 == 0 else first
        program.killed(randomness.uniform(0.4, 1) * whole_s, "restore", wanted)
        before = contents_of(program.work)
        if not note.exists():
            begin()
        kills += program.killed(randomness.uniform(0.4, 0.9) * abandoning_s, "restore", "--abandon")
        if note.exists():
            program.run("restore", "--abandon")
        assert contents_of(program.work) == before
        program.run("backup")
        program.run("restore", wanted)
    assert kills, "no kill hit: the test tests nothing"
    program.run("snapshots", "verify")  # exit code 31 when one is damaged


def test_killed_restores_to_another_place_leave_nothing_there(
    program: Program, tmp_path: Path
) -> None:
    program.run("backup")
    out = tmp_path / "out"
    whole_s = duration_s(program, "restore", "--to", str(out / "whole"))
    randomness = random.Random(6)  # noqa: S311 - data, not secrets
    left = set(out.glob(".*"))
    assert not left
    for number in range(KILLS // 2):
        target = out / f"killed-{number}"

        def has_begun(left: set[Path] = left) -> bool:
            return bool(set(out.glob(".*")) - left)

        # By and by later: the first at once when something lies there, so that one hits for sure.
        after_s = randomness.uniform(0, number / KILLS) * whole_s
        program.killed(after_s, "restore", "--to", str(target), once=has_begun)
        assert not target.exists() or state_of(target / "work") == state_of(program.work)
        left = set(out.glob(".*"))
        shutil.rmtree(target, ignore_errors=True)
        if number == 0:
            assert left, "no kill hit: the test tests nothing"
    for directory in out.glob(".*"):
        # Killed before its note was written, a run leaves a directory that goes after an hour.
        os.utime(directory, (time.time() - 7200,) * 2)
    program.run("restore", "--to", str(out / "last"))
    assert list(out.glob(".*")) == []
