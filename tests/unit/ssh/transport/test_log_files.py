"""Logs of ssh that killed commands left go; nobody else's, and none that is in use."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scratchflow.ssh.transport.log_files import (
    PREFIX,
    STALE_AFTER_S,
    log_file,
    process_space,
    remove_stale,
)

NOBODY = 4_194_999  # above the greatest number that Linux gives
TAIL = "0123456789abcdef"


def aged(path: Path, age_s: float) -> Path:
    path.touch()
    then = time.time() - age_s
    os.utime(path, (then, then))
    return path


def test_what_a_killed_command_left_is_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    left = aged(tmp_path / f"{PREFIX}{NOBODY}-{TAIL}", 2 * STALE_AFTER_S)
    before = aged(tmp_path / f"{PREFIX}{TAIL}", 2 * STALE_AFTER_S)  # as earlier versions named it
    with log_file() as log:
        assert log.exists()
    assert not any(path.exists() for path in (left, before, log))


def test_young_logs_those_of_living_processes_and_other_files_stay(tmp_path: Path) -> None:
    old_s = 2 * STALE_AFTER_S
    stay = [
        aged(tmp_path / f"{PREFIX}{NOBODY}-{TAIL}", STALE_AFTER_S / 2),
        aged(tmp_path / f"{PREFIX}{os.getpid()}-{TAIL}", old_s),
        aged(tmp_path / f"{PREFIX}notes", old_s),
    ]
    target = aged(tmp_path / "target", old_s)
    link = tmp_path / f"{PREFIX}{NOBODY}-{TAIL[::-1]}"
    link.symlink_to(target)
    remove_stale(tmp_path, time.time())
    assert all(path.exists() for path in [*stay, target])
    assert link.is_symlink()


def test_what_was_left_on_this_machine_goes_at_once(tmp_path: Path) -> None:
    here = process_space()
    left = aged(tmp_path / f"{PREFIX}{NOBODY}-{here}-{TAIL}", 1)
    stay = [
        aged(tmp_path / f"{PREFIX}{os.getpid()}-{here}-{TAIL}", 1),
        aged(tmp_path / f"{PREFIX}{NOBODY}-01234567.1-{TAIL}", 1),  # of another host
    ]
    remove_stale(tmp_path, time.time())
    assert not left.exists()
    assert all(path.exists() for path in stay)


def test_the_log_of_a_command_that_was_killed_goes_with_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = (
        "from scratchflow.ssh.transport.log_files import log_file\n"
        "import os, signal\n"
        "with log_file(): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    with log_file():
        pass
    assert list(tmp_path.iterdir()) == []
