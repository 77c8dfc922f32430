"""A snapshot, or a part of it, comes back into a directory."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore import extract
from scratchflow.archive.write.frame_sink import FRAME_BYTES
from tests.unit.archive.conftest import Bench, fill

pytestmark = pytest.mark.usefixtures("with_and_without_helpers")


def test_setuid_of_files_is_not_given_back(bench: Bench) -> None:
    (bench.work / "su").write_bytes(b"x")
    (bench.work / "su").chmod(0o6755)
    restored = bench.restore(bench.backup("A"))
    assert (restored / "work" / "su").stat().st_mode & 0o7777 == 0o755


def test_only_the_second_name_of_a_file(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"same")
    os.link(bench.work / "a", bench.work / "b")
    os.link(bench.work / "a", bench.work / "c")
    index = bench.backup("A")
    target = bench.home / "part"
    target.mkdir()
    part = Selection(index, ["work/b", "work/c"])
    extract.extract(index, bench.path, target, warn=bench.warn, select=part)
    assert sorted(os.listdir(target / "work")) == ["b", "c"]
    assert (target / "work" / "b").samefile(target / "work" / "c")


def test_progress_says_when_the_small_files_are_there(bench: Bench) -> None:
    fill(bench.work)
    (bench.work / "large").write_bytes(bytes(3 * FRAME_BYTES))
    index = bench.backup("A")
    target = bench.home / "watched"
    target.mkdir()
    seen: list[str] = []

    def progress(phase: str, files: int, of: int, size: int, of_size: int) -> None:
        seen.append(phase)
        if phase == "usable":
            assert (target / "work" / "src" / "main.c").exists()
            assert not (target / "work" / "large").exists()
        assert files <= of
        assert size <= of_size

    extract.extract(index, bench.path, target, warn=bench.warn, progress=progress)
    assert seen.count("usable") == 1
    assert seen[-1] == "restore"
