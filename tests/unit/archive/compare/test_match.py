"""Which content is believed unread: that of files which the cache vouches for, and no other."""

from __future__ import annotations

import os
import shutil

from hypothesis import given, settings
from hypothesis import strategies as st

from scratchflow.archive.compare.match import Comparison, compare
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree.index import Index
from tests.unit.archive.conftest import Bench, fill


def _known(found: Comparison, scanned: ScannedTree) -> set[bytes]:
    return {
        scanned.path(entry + offset) for entry, _, count in found.runs for offset in range(count)
    }


def _require_each_once(found: Comparison, scanned: ScannedTree, index: Index) -> None:
    seen = [entry + offset for entry, _, count in found.runs for offset in range(count)]
    seen += [entry for entry, _ in found.suspects]
    seen += list(found.new)
    assert sorted(seen) == list(range(len(scanned)))
    for entry, known, count in found.runs:
        for offset in range(count):
            assert scanned.path(entry + offset) == index.path(known + offset)
    gone = {index.path(entry) for entry in found.gone}
    assert len(gone) == len(found.gone)
    now = {scanned.path(entry) for entry in range(len(scanned))}
    assert gone == {index.path(entry) for entry in range(len(index))} - now


def test_an_unchanged_tree_is_one_run(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    scanned = bench.settled()
    found = compare(scanned, index, bench.cache)
    assert found.runs == [(0, 0, len(index))]
    assert not found.touched


def test_without_a_cache_no_content_is_believed(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    scanned = bench.settled()
    found = compare(scanned, index, None)
    _require_each_once(found, scanned, index)
    suspects = {entry for entry, _ in found.suspects}
    assert suspects == set(scanned.regular_files())


def test_a_copy_with_the_same_times_is_a_suspect(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    shutil.copy2(bench.work / "data", bench.work / "copy")
    (bench.work / "copy").rename(bench.work / "data")  # size and mtime are the same
    scanned = bench.settled()
    found = compare(scanned, index, bench.cache)
    _require_each_once(found, scanned, index)
    assert [scanned.path(entry) for entry, _ in found.suspects] == [b"work/data"]


def test_kinds_that_changed_are_new_and_what_was_beneath_is_gone(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    shutil.rmtree(bench.work / "src")
    (bench.work / "src").write_bytes(b"a file now")
    (bench.work / "loop").unlink()
    (bench.work / "loop").mkdir()
    scanned = bench.settled()
    found = compare(scanned, index, bench.cache)
    _require_each_once(found, scanned, index)
    assert {scanned.path(entry) for entry in found.replaced} == {b"work/src", b"work/loop"}
    assert b"work/src/deeper/leaf" in {index.path(entry) for entry in found.gone}


def test_another_mode_touches_and_a_directorys_time_does_not(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    (bench.work / "src").chmod(0o700)
    os.utime(bench.work / "bin", ns=(0, 5))
    scanned = bench.settled()
    found = compare(scanned, index, bench.cache)
    assert [scanned.path(entry) for entry in found.touched] == [b"work/src"]
    assert {b"work/src", b"work/bin"} <= _known(found, scanned)


@given(
    runs=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3)), max_size=8),
    asked=st.integers(0, 60),
)
@settings(max_examples=60)
def test_a_run_answers_for_its_entries_and_no_others(
    runs: list[tuple[int, int]], asked: int
) -> None:
    found, expected, entry = Comparison(), {}, 0
    for length, gap in runs:
        entry += gap
        found.add_run(entry, entry + 1000, length)
        expected.update({entry + offset: entry + offset + 1000 for offset in range(length)})
        entry += length
    assert found.known_entry(asked) == expected.get(asked)
    assert len(found.runs) <= sum(gap > 0 for _, gap in runs) + 1
