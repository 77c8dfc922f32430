"""Chunks that an archive holds are referred to; those that none holds are stored, each once."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.cut_files import CutFiles
from scratchflow.archive.write.large_files import LargeFiles, large_files_of
from tests.unit.archive.conftest import Bench

pytestmark = pytest.mark.usefixtures("small_chunks")


@pytest.fixture
def first(bench: Bench) -> Index:
    (bench.work / "large").write_bytes(os.urandom(300_000))
    return bench.backup("A")


def test_only_large_files_that_are_to_be_stored_are_cut(bench: Bench, first: Index) -> None:
    (bench.work / "small").write_bytes(os.urandom(60_000))
    (bench.work / "new").write_bytes(os.urandom(70_000))
    (bench.work / "further-name").hardlink_to(bench.work / "new")
    (bench.work / "directory").mkdir()
    planned = bench.plan(first)
    names = [planned.scanned.names[entry] for entry in large_files_of(planned)]
    assert names == [b"further-name"]


def _cuts(bench: Bench, parent: Index) -> tuple[CutFiles, int, os.stat_result]:
    planned = bench.plan(parent)
    (entry,) = large_files_of(planned)
    cuts = CutFiles(planned.scanned, planned.seed, [entry], 0)
    path = bench.scratch / os.fsdecode(planned.scanned.path(entry))
    return cuts, entry, path.stat()


def test_a_chunk_that_repeats_is_stored_once(bench: Bench, first: Index) -> None:
    known = (bench.work / "large").read_bytes()
    (bench.work / "large").write_bytes(b"\7" * 160_000 + known)
    cuts, entry, stats = _cuts(bench, first)
    with cuts:
        large = LargeFiles(cuts, first, 1)
        new = large.new_chunks(entry, stats)
        assert new
        digests = [digest for _, _, digest in new.stretches]
        assert len(set(digests)) == len(digests) < new.known.count(None)
        chunks = large.stored(new, 5000)
    assert sum(chunks.lengths) == stats.st_size
    assert min(at for number, at, _ in chunks.each() if number == 1) == 5000


def test_a_file_that_is_not_what_was_cut_is_stored_whole(bench: Bench, first: Index) -> None:
    (bench.work / "large").write_bytes((bench.work / "large").read_bytes() + b"more")
    cuts, entry, stats = _cuts(bench, first)
    with cuts:
        large = LargeFiles(cuts, first, 1)
        assert large.new_chunks(entry, stats)
        os.utime(bench.work / "large", ns=(1, 1))
        assert large.new_chunks(entry, (bench.work / "large").stat()) is None


def test_a_full_archive_refers_to_nothing(bench: Bench, first: Index) -> None:
    (bench.work / "large").write_bytes((bench.work / "large").read_bytes() + b"more")
    cuts, entry, stats = _cuts(bench, first)
    with cuts:
        assert LargeFiles(cuts, None, 0).new_chunks(entry, stats) is None


def test_a_known_digest_of_another_length_is_not_the_same_chunk(bench: Bench, first: Index) -> None:
    (chunks,) = first.chunks.values()
    for number, length in enumerate(chunks.lengths):
        chunks.lengths[number] = length - 1
    (bench.work / "large").write_bytes((bench.work / "large").read_bytes() + b"more")
    cuts, entry, stats = _cuts(bench, first)
    with cuts:
        assert LargeFiles(cuts, first, 1).new_chunks(entry, stats) is None
