"""After a delta the cache vouches for what the delta left alone, as it was scanned, and for nothing else."""

from __future__ import annotations

from array import array

from scratchflow.archive.compare.delta import find_delta
from scratchflow.archive.restore.after_delta import cache_after
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.tree.index import RECHECK, Index
from tests.unit.archive.conftest import Bench, fill


def _flag(cache: ScanCache, index: Index, path: bytes) -> int:
    entry = index.find(path)
    assert entry is not None
    return cache.flags[entry]


def _cache(bench: Bench, wanted: Index, base: Index, touched: list[bytes]) -> ScanCache:
    scanned = bench.settled()
    delta = find_delta(scanned, base, bench.cache, wanted, bench.warn)
    entries = [entry for path in touched if (entry := wanted.find(path)) is not None]
    flags = array("B", bytes(len(scanned)))
    return cache_after(delta, entries, scanned, flags, wanted)


def test_only_what_was_written_is_read_again(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "src/main.c").write_bytes(b"changed")
    (bench.work / "added").write_bytes(b"x")
    (bench.work / "bin/tool").unlink()
    second = bench.backup("B", first)
    cache = _cache(bench, first, second, [b"work/src/main.c"])
    assert cache.snapshot == "A"
    assert len(cache.flags) == len(cache.inode) == len(first)
    assert _flag(cache, first, b"work/src/main.c") == RECHECK
    assert _flag(cache, first, b"work/bin/tool") == RECHECK  # it was absent: nobody has seen it
    assert _flag(cache, first, b"work/data") == 0
    entry = first.find(b"work/data")
    assert entry is not None
    assert cache.inode[entry] == (bench.work / "data").stat().st_ino


def test_what_somebody_changed_since_the_scan_is_seen_by_the_next_backup(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    cache = _cache(bench, first, first, [])
    (bench.work / "data").write_bytes(b"?" * 300_000)
    bench.cache = cache
    assert bench.plan(first).changed_files == 1


def test_what_could_not_be_trusted_before_cannot_be_now(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    scanned = bench.settled()
    delta = find_delta(scanned, first, bench.cache, first, bench.warn)
    flags = array("B", bytes([RECHECK]) * len(scanned))
    assert set(cache_after(delta, [], scanned, flags, first).flags) == {RECHECK}
