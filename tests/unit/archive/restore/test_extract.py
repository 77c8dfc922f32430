"""A snapshot, or a part of it, comes back into a directory."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore import extract
from scratchflow.archive.restore.displace import Displacing, Held
from scratchflow.archive.write.archive_out import FRAME_BYTES
from tests.unit.archive.conftest import Bench, fill, tree_state

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


@pytest.mark.parametrize("depth", [1, 3, 70])
def test_names_of_files_that_lie_in_more_directories_than_stay_open(
    bench: Bench, depth: int
) -> None:
    """As in an environment whose files are hard links into the packages that they came from."""
    together = bench.work / "z-together"
    together.mkdir()
    for number in range(150 if depth < 10 else 5):
        apart = bench.work.joinpath(f"{number}", *["d"] * depth)
        apart.mkdir(parents=True)
        (apart / "file").write_bytes(b"%d" % number)
        (together / f"own-{number}").write_bytes(b"own %d" % number)
        os.link(apart / "file", together / f"{number}")
    index = bench.backup("A")
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)
    before = tree_state(bench.scratch)
    for number in range(0, 150 if depth < 10 else 5, 2):
        (together / f"{number}").unlink()
        (together / f"{number}").write_bytes(b"apart now")
    changed = bench.backup("B", index)
    bench.delta_to(index, changed)
    assert tree_state(bench.scratch) == before


def test_directories_that_are_there_and_more_than_stay_open(bench: Bench) -> None:
    for number in range(150):
        (bench.work / f"{number}" / "inside").mkdir(parents=True)
        (bench.work / f"{number}" / "inside" / "file").write_bytes(b"%d" % number)
    index = bench.backup("A")
    before = tree_state(bench.scratch)
    for number in range(150):
        (bench.work / f"{number}" / "inside" / "file").write_bytes(b"other")
    scanned = bench.settled()
    displacing = Displacing(Held(scanned), index.id, bench.warn)
    extract.extract(index, bench.path, bench.scratch, warn=bench.warn, existing=displacing)
    after = tree_state(bench.scratch)
    assert {path: state[3] for path, state in after.items()} == {
        path: state[3] for path, state in before.items()
    }
