"""The files of a restore, shared out: each once, whatever frames hold them."""

from __future__ import annotations

import os
from array import array

import pytest

from scratchflow.archive.read.archives import Archives
from scratchflow.archive.read.batches import Unit, batches_of, spread, units_of
from scratchflow.archive.workers.queue import MAX_SHARES
from scratchflow.archive.write.archive_out import FRAME_BYTES
from tests.unit.archive.conftest import Bench


def _units(count: int, files: int) -> list[Unit]:
    return [((0, number), array("I", range(number * files, (number + 1) * files)))
            for number in range(count)]  # fmt: skip


def _entries(units: list[Unit]) -> list[int]:
    return [entry for _, entries in units for entry in entries]


def test_each_file_is_in_one_unit_or_large_and_the_newest_come_first(bench: Bench) -> None:
    (bench.work / "large").write_bytes(os.urandom(FRAME_BYTES + 1))
    for number in range(5):
        (bench.work / f"small-{number}").write_bytes(b"%d" % number)
    for number in range(600):
        (bench.work / f"empty-{number:03}").touch()
    os.utime(bench.work / "empty-599", (0, 4_000_000_000))
    index = bench.backup("A")
    with Archives(index, bench.path) as archives:
        files = list(index.regular_files())
        small, large = units_of(archives, files)
    assert [index.path(entry) for entry in large] == [b"work/large"]
    assert sorted([*_entries(small), *large]) == files
    newest = [max(index.mtime_ns[entry] for entry in entries) for _, entries in small]
    assert newest == sorted(newest, reverse=True)
    assert max(len(entries) for _, entries in small) <= 512


def test_each_file_is_with_the_frame_that_holds_it(bench: Bench) -> None:
    for number, size in enumerate([1_500_000, 0, 90_000, 2_800_000, 1, 3_900_000, 70_000] * 3):
        (bench.work / f"file-{number:02}").write_bytes(os.urandom(size))
    with (bench.work / "file-03-sparse").open("wb") as sparse:  # shorter in its frame than its size
        sparse.truncate(FRAME_BYTES * 2)
        sparse.write(os.urandom(4096))
    index = bench.backup("A")
    with Archives(index, bench.path) as archives:
        small, large = units_of(archives, index.regular_files())
        for (number, frame), entries in small:
            for entry in filter(index.size.__getitem__, entries):
                assert list(archives.frames_of(entry)) == [frame]
                assert index.archive[entry] == number
        assert all(len(archives.frames_of(entry)) > 1 for entry in large)
    assert len({place for place, _ in small}) > 3
    assert sorted([*_entries(small), *large]) == list(index.regular_files())


@pytest.mark.parametrize(("small", "large"), [(0, 0), (1, 0), (0, 3), (5000, 0), (1800, 1900)])
def test_there_are_never_more_lots_than_can_be_shared_out(small: int, large: int) -> None:
    units, files = _units(small, 2), list(range(100_000, 100_000 + large))
    lots = batches_of(units, files)
    assert len(lots) <= MAX_SHARES
    assert [entry for lot in lots for entry in lot.entries()] == [*_entries(units), *files]
    assert not any(lot.units and lot.large for lot in lots)


@pytest.mark.parametrize(("units", "files", "threads"), [(1, 1000, 4), (3, 10, 8), (64, 10, 4)])
def test_few_frames_are_cut_into_lots_for_all_threads(units: int, files: int, threads: int) -> None:
    whole = _units(units, files)
    lots = spread(whole, threads)
    assert _entries(lots) == _entries(whole)
    assert len(lots) >= min(units * files // 16, threads * 4)
    if units >= threads * 4:
        assert lots == whole
