"""The scan cache vouches for files that nobody touched, and for no others."""

from __future__ import annotations

import shutil
from pathlib import Path

from scratchflow.archive.scan.cache import ScanCache, is_racy
from scratchflow.archive.write import writer
from tests.unit.archive.conftest import Bench, fill


def test_whole_second_timestamps_are_distrusted_for_longer() -> None:
    second = 1_000_000_000
    assert is_racy(100 * second, 101 * second)
    assert not is_racy(100 * second + 1, 101 * second)
    assert not is_racy(100 * second, 103 * second)
    assert is_racy(100 * second + 1, 100 * second + 10_000_000)


def test_cache_round_trips_and_belongs_to_one_snapshot(bench: Bench, tmp_path: Path) -> None:
    fill(bench.work)
    first = bench.backup("A")
    assert bench.cache is not None
    bench.cache.save(tmp_path / "cache")
    loaded = ScanCache.load(tmp_path / "cache", first)
    assert loaded is not None
    assert (loaded.inode, loaded.ctime_ns) == (bench.cache.inode, bench.cache.ctime_ns)
    second = bench.backup("B", None)
    assert ScanCache.load(tmp_path / "cache", second) is None
    damaged = bytearray((tmp_path / "cache").read_bytes())
    damaged[20] ^= 1
    (tmp_path / "cache").write_bytes(damaged)
    assert ScanCache.load(tmp_path / "cache", first) is None
    assert ScanCache.load(tmp_path / "none", first) is None


def test_a_tree_that_differs_has_no_cache(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "data").rename(bench.work / "date")
    assert ScanCache.if_equal(bench.settled(), first) is None


def test_first_backup_after_a_restore_is_unchanged(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    shutil.rmtree(bench.scratch)
    bench.scratch = bench.restore(first)
    scanned = bench.settled()
    cache = ScanCache.if_equal(scanned, first)
    assert cache is not None
    assert writer.plan(scanned, first, cache, warn=bench.warn).unchanged
