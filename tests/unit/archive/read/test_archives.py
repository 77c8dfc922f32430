"""Frames and parts of them: what they hold, and what is said when an archive is gone or damaged."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.archive.read.archives import Archives
from scratchflow.archive.tree.index import Index
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.unit.archive.conftest import Bench

LARGE = random.Random(3).randbytes(9_000_000)  # noqa: S311 - several frames


@pytest.fixture
def saved(bench: Bench) -> Iterator[Archives]:
    (bench.work / "large").write_bytes(LARGE)
    (bench.work / "small").write_bytes(b"few")
    with Archives(bench.backup("A"), bench.path) as archives:
        yield archives


def _entry(index: Index, path: bytes) -> int:
    return next(entry for entry in range(len(index)) if index.path(entry) == path)


def test_a_file_lies_in_spans_that_follow_each_other(saved: Archives) -> None:
    entry = _entry(saved.index, b"work/large")
    spans = list(saved.spans_of(entry))
    assert len(spans) > 1
    assert sum(length for _, _, _, length in spans) == len(LARGE)
    whole = b"".join(bytes(piece) for span in spans for piece in saved.pieces_in(span))
    assert whole == LARGE
    inside = (memoryview(saved.frame(number, frame))[at : at + n] for number, frame, at, n in spans)
    assert b"".join(inside) == LARGE


def test_a_part_of_a_frame_is_the_same_whether_the_rest_is_read_or_not(saved: Archives) -> None:
    number, frame, start, length = next(saved.spans_of(_entry(saved.index, b"work/large")))
    assert length > 1_000_000
    for count in (1, 70_000, length):  # a small part, and most of it
        part = (number, frame, start, count)
        assert b"".join(map(bytes, saved.pieces_in(part))) == LARGE[:count]


def test_the_files_of_a_frame_by_their_entries(saved: Archives) -> None:
    entry = _entry(saved.index, b"work/small")
    (frame,) = saved.frames_of(entry)
    content = saved.files_in(saved.index.archive[entry], frame, 3)
    assert bytes(content(entry)) == b"few"


def test_another_process_opens_them_anew(saved: Archives) -> None:
    assert saved.frame(0, 0)
    with saved.again() as again:
        saved.__exit__()
        assert again.frame(0, 0) == saved.frame(0, 0)


def test_an_archive_that_is_gone_is_named(bench: Bench) -> None:
    (bench.work / "large").write_bytes(LARGE)
    first = bench.backup("A")
    (bench.work / "later").write_bytes(b"later")
    index = bench.backup("B", first)
    bench.path("A").unlink()
    with Archives(index, bench.path) as archives:
        number = index.archive[_entry(index, b"work/large")]
        with pytest.raises(SnapshotDamaged, match="archive `A`, which holds a part of it, is miss"):
            archives.frame(number, 0)


def test_a_changed_byte_is_told_with_archive_and_frame(bench: Bench) -> None:
    (bench.work / "large").write_bytes(LARGE)
    index = bench.backup("A")
    _flip(bench.path("A"), index.archives[0].packed_start(1) + 500)
    with Archives(index, bench.path) as archives:
        assert archives.frame(0, 0)
        with pytest.raises(SnapshotDamaged, match=r"A\.tar\.lz4, frame 1: ") as failure:
            archives.frame(0, 1)
    assert failure.value.fields["archive"] == "A"


def _flip(path: Path, offset: int) -> None:
    with open(path, "r+b") as file:
        before = os.pread(file.fileno(), 1, offset)[0]
        os.pwrite(file.fileno(), bytes([before ^ 1]), offset)
