"""Files come back with the modes they had, however many threads create them at once."""

from __future__ import annotations

import os
import stat
import time

import pytest

from scratchflow.archive.restore.extract import extract
from tests.unit.archive.conftest import Bench


@pytest.fixture
def _slow_umask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another umask stays set for a moment, as it does when a thread has to wait right then."""
    real = os.umask

    def slow(mask: int) -> int:
        before = real(mask)
        time.sleep(0.01)
        return before

    monkeypatch.setattr(os, "umask", slow)


def _modes(directory: os.PathLike[str]) -> set[int]:
    return {stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(directory)}


@pytest.mark.usefixtures("_slow_umask")
def test_threads_that_begin_at_once_give_every_file_its_mode(bench: Bench) -> None:
    for number in range(64):
        (bench.work / f"{number}").write_bytes(os.urandom(30_000))
        (bench.work / f"{number}").chmod(0o644)
    index = bench.backup("A")
    target = bench.home / "restored"
    target.mkdir()
    before = os.umask(0o022)
    try:
        extract(index, bench.path, target, warn=bench.warn, threads=8)
        assert _modes(target / "work") == {0o644}
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
