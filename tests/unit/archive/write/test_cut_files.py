"""Large files are cut by processes of their own, and by this one when those are gone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from scratchflow.archive.files.chunker import cut_file
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.write.cut_files import Cut, CutFiles, stamps_of
from tests.unit.archive.conftest import Bench, helpers_of_a_killed_asker, wait_until_gone

pytestmark = pytest.mark.usefixtures("small_chunks")

SEED = 5


@pytest.fixture
def scanned(bench: Bench) -> ScannedTree:
    for number in range(5):
        (bench.work / f"file{number}").write_bytes(os.urandom(300_000 + number))
    return bench.settled()


def _files(scanned: ScannedTree) -> list[int]:
    return list(scanned.regular_files())


def _expected(bench: Bench, scanned: ScannedTree, entry: int) -> Cut:
    path = bench.scratch / os.fsdecode(scanned.path(entry))
    with path.open("rb") as file:
        found = cut_file(file.fileno(), path.stat().st_size, SEED)
    assert found is not None
    return Cut(stamps_of(path.stat()), found)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_every_file_is_cut_in_any_order(bench: Bench, scanned: ScannedTree, count: int) -> None:
    with CutFiles(scanned, SEED, _files(scanned), count) as cuts:
        assert len(cuts.processes) == count
        for entry in reversed(_files(scanned)):
            assert cuts.get(entry) == _expected(bench, scanned, entry)


def test_what_killed_processes_leave_is_cut_here(bench: Bench, scanned: ScannedTree) -> None:
    with CutFiles(scanned, SEED, _files(scanned), 2) as cuts:
        for process in cuts.processes:
            os.kill(process, signal.SIGKILL)
        for entry in _files(scanned):
            assert cuts.get(entry) == _expected(bench, scanned, entry)


def test_no_process_is_left_behind(scanned: ScannedTree) -> None:
    with CutFiles(scanned, SEED, _files(scanned), 2) as cuts:
        processes = cuts.processes
    assert len(processes) == 2
    wait_until_gone(processes)
    cuts.close()


@pytest.mark.parametrize("count", [0, 2])
def test_what_is_gone_or_no_file_or_has_holes_is_not_cut(
    bench: Bench, scanned: ScannedTree, count: int
) -> None:
    (bench.work / "file0").unlink()
    (bench.work / "file1").unlink()
    (bench.work / "file1").symlink_to("file2")
    with (bench.work / "file2").open("r+b") as file:
        file.truncate(3_000_000)
    with CutFiles(scanned, SEED, _files(scanned), count) as cuts:
        found = [cuts.get(entry) for entry in _files(scanned)]
    assert [one is None for one in found] == [True, True, True, False, False]


_ASKER = """
import sys, time
from pathlib import Path
from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.scan import scan_tree
from scratchflow.archive.write.cut_files import CutFiles
scanned = scan_tree(Path(sys.argv[1]), ["work"], IgnoreRules(), print)
cuts = CutFiles(scanned, 5, list(scanned.regular_files()), 2)
print(*cuts.processes, flush=True)
time.sleep(60)
"""


def test_processes_end_when_the_one_who_asked_is_killed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "work" / name).write_bytes(bytes(range(256)) * 200_000)
    helpers = helpers_of_a_killed_asker(_ASKER, tmp_path)
    assert len(helpers) == 2
    wait_until_gone(helpers)
