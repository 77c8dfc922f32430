"""A large file whose chunks are known is read once by a backup: by whoever cuts it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from scratchflow.archive.files.digest import digest_of_file
from scratchflow.archive.scan import reread
from scratchflow.archive.tree import chunks
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write import writer
from tests.unit.archive.conftest import Bench, tree_state

pytestmark = pytest.mark.usefixtures("small_chunks")

SIZE = 300_000


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of files that were read only to compare them."""
    found: list[int] = []

    def noted(descriptor: int, seed: int, buffer: bytearray) -> bytes:
        found.append(os.fstat(descriptor).st_size)
        return digest_of_file(descriptor, seed, buffer)

    monkeypatch.setattr(reread, "digest_of_file", noted)
    monkeypatch.setattr(reread, "usable_cores", lambda: 1)
    return found


@pytest.fixture
def first(bench: Bench) -> Index:
    (bench.work / "large").write_bytes(os.urandom(SIZE))
    (bench.work / "small").write_bytes(os.urandom(1000))
    return bench.backup("A")


def _plan(bench: Bench, parent: Index, *, full: bool = False) -> writer.Plan:
    return writer.plan(
        bench.settled(), parent, bench.cache, warn=bench.warn, full=full, will_cut=True
    )


def _rewrite(path: Path) -> None:
    path.write_bytes(os.urandom(100) + path.read_bytes()[100:])


def _check(bench: Bench, planned: writer.Plan) -> Index:
    index = bench.write(planned, "B")
    restored = bench.restore(index)
    assert tree_state(restored) == tree_state(bench.scratch)
    return index


def test_a_changed_file_is_not_read_to_find_out_whether_it_changed(
    bench: Bench, first: Index, looked_at: list[int]
) -> None:
    _rewrite(bench.work / "large")
    _rewrite(bench.work / "small")
    planned = _plan(bench, first)
    assert looked_at == [1000]
    _check(bench, planned)
    assert bench.path("B").stat().st_size < SIZE / 3


def test_a_file_that_was_only_touched_takes_no_room(
    bench: Bench, first: Index, looked_at: list[int]
) -> None:
    os.utime(bench.work / "large", ns=(1, 1))
    planned = _plan(bench, first)
    assert looked_at == []
    index = _check(bench, planned)
    entry, known = index.find(b"work/large"), first.find(b"work/large")
    assert entry is not None
    assert known is not None
    assert index.place(entry) == first.place(known)
    assert bench.path("B").stat().st_size < 5000


def test_a_copy_is_not_read_to_find_out_what_it_is_of(
    bench: Bench, first: Index, looked_at: list[int]
) -> None:
    shutil.copyfile(bench.work / "large", bench.work / "copy")
    planned = _plan(bench, first)
    assert looked_at == []
    _check(bench, planned)
    assert bench.path("B").stat().st_size < 5000


def test_a_file_that_may_have_moved_is_read_and_not_stored(
    bench: Bench, first: Index, looked_at: list[int]
) -> None:
    (bench.work / "large").rename(bench.work / "moved")
    planned = _plan(bench, first)
    assert looked_at == [SIZE]
    assert len(planned.store) == 0
    _check(bench, planned)


def test_a_file_with_the_mtime_that_is_known_is_read(
    bench: Bench, first: Index, looked_at: list[int]
) -> None:
    bench.cache = None
    assert _plan(bench, first).unchanged
    assert sorted(looked_at) == [1000, SIZE]


def test_a_file_without_known_chunks_is_read(
    bench: Bench, first: Index, looked_at: list[int]
) -> None:
    first.chunks.clear()
    os.utime(bench.work / "large", ns=(1, 1))
    assert not _plan(bench, first).store
    assert looked_at == [SIZE]


def test_a_full_backup_and_a_restore_say_what_really_changed(
    bench: Bench, first: Index, looked_at: list[int]
) -> None:
    os.utime(bench.work / "large", ns=(1, 1))
    assert _plan(bench, first, full=True).changed_files == 0
    assert bench.plan(first).changed_files == 0  # a restore finds its difference like this
    assert looked_at == [SIZE, SIZE]


def test_a_smaller_file_is_read(
    bench: Bench, first: Index, looked_at: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MIN_CHUNKED_BYTES", SIZE + 1)
    os.utime(bench.work / "large", ns=(1, 1))
    assert not _plan(bench, first).store
    assert looked_at == [SIZE]
