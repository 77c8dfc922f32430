"""A frame that the chunks of a file lie in by turns is read once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from scratchflow.archive.format.container import FrameBlocks
from scratchflow.archive.read import spans as spans_module
from scratchflow.archive.read.archives import Archives, Span
from scratchflow.archive.read.spans import SpanReader, frames_to_put_first
from scratchflow.archive.tree.index import Index
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.unit.archive.conftest import Bench

pytestmark = pytest.mark.usefixtures("small_chunks")

SIZE = 6_000_000


@pytest.fixture
def decompressed(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[int, int]]:
    """How often each frame was read."""
    found: Counter[tuple[int, int]] = Counter()
    real = Archives.fetched

    def noted(self: Archives, number: int, frame: int, *more: Any) -> FrameBlocks:
        found[number, frame] += 1
        return real(self, number, frame, *more)

    monkeypatch.setattr(Archives, "fetched", noted)
    return found


def _changed_in_places(bench: Bench, count: int) -> tuple[Index, int, bytes]:
    content = bytearray(os.urandom(SIZE))
    (bench.work / "large").write_bytes(content)
    first = bench.backup("A")
    for at in range(1000, SIZE, SIZE // count):
        content[at : at + 100] = os.urandom(100)
    (bench.work / "large").write_bytes(content)
    second = bench.backup("B", first)
    entry = second.find(b"work/large")
    assert entry is not None
    assert second.is_scattered(entry)
    return second, entry, bytes(content)


def _read(bench: Bench, index: Index, entry: int) -> bytes:
    with Archives(index, bench.path) as archives:
        return b"".join(SpanReader(archives, list(archives.spans_of(entry))).in_order())


def _write(bench: Bench, index: Index, entry: int, threads: int) -> tuple[bytes, bytes]:
    """What lies in the file afterwards, and what was given for its digest."""
    with (
        Archives(index, bench.path) as archives,
        ThreadPoolExecutor(threads) as pool,
        (bench.home / "written").open("w+b", buffering=0) as file,
    ):
        spans = list(archives.spans_of(entry))
        reader = SpanReader(archives, spans, pool if threads > 1 else None, threads)
        given = b"".join(map(bytes, reader.into(file.fileno())))
        return file.read(), given


def test_every_frame_is_read_once(bench: Bench, decompressed: Counter[tuple[int, int]]) -> None:
    index, entry, content = _changed_in_places(bench, 12)
    assert _read(bench, index, entry) == content
    assert decompressed
    assert set(decompressed.values()) == {1}


def test_frames_that_do_not_fit_are_decompressed_again(
    bench: Bench, decompressed: Counter[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    index, entry, content = _changed_in_places(bench, 40)
    monkeypatch.setattr(spans_module, "KEPT_TO_READ_BYTES", 0)
    assert _read(bench, index, entry) == content
    assert not decompressed  # block by block, for each span alone


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kept_bytes", [0, 4 << 20, 64 << 20])
def test_a_file_is_written_from_frames_that_are_read_once_however_few_fit_into_memory(
    bench: Bench,
    decompressed: Counter[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    kept_bytes: int,
) -> None:
    index, entry, content = _changed_in_places(bench, 40)
    monkeypatch.setattr(spans_module, "KEPT_TO_WRITE_BYTES", kept_bytes)
    written, given = _write(bench, index, entry, threads)
    assert written == content
    assert given == content
    assert set(decompressed.values()) == {1}


def test_nobody_writes_to_the_file_any_more_when_its_content_was_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, entry, _ = _changed_in_places(bench, 40)
    begun, go_on, ended = Event(), Event(), Event()
    real_fetched, real_wait = Archives.fetched, spans_module._wait_for

    def slow(self: Archives, number: int, frame: int, *more: Any) -> FrameBlocks:
        if (number, frame) == (0, 1):
            begun.set()
            go_on.wait(60)
        blocks = real_fetched(self, number, frame, *more)
        if (number, frame) == (0, 1):
            ended.set()
        return blocks

    def wait_for(reading: Iterable[Any]) -> None:
        go_on.set()
        real_wait(reading)

    monkeypatch.setattr(Archives, "fetched", slow)
    monkeypatch.setattr(spans_module, "_wait_for", wait_for)
    with (
        Archives(index, bench.path) as archives,
        ThreadPoolExecutor(2) as pool,
        (bench.home / "written").open("w+b", buffering=0) as file,
    ):
        pieces = SpanReader(archives, list(archives.spans_of(entry)), pool, 4).into(file.fileno())
        next(pieces)
        assert begun.wait(60)
        pieces.close()
        is_over = ended.is_set()
        go_on.set()
    assert is_over


def test_a_frame_that_cannot_be_read_is_named(bench: Bench) -> None:
    index, entry, _ = _changed_in_places(bench, 12)
    path = bench.path("A")
    path.write_bytes(path.read_bytes()[:3_000_000])
    with pytest.raises(SnapshotDamaged, match=r"A\.tar\.lz4, frame \d"):
        _write(bench, index, entry, 3)


def test_of_a_frame_that_little_is_wanted_of_only_that_is_read(bench: Bench) -> None:
    index, _, _ = _changed_in_places(bench, 12)
    with Archives(index, bench.path) as archives:
        spans = [(0, 1, 90_000, 5000), (0, 1, 1_000_000, 100_000)]
        found = b"".join(map(bytes, SpanReader(archives, spans).in_order()))
        frame = archives.frame(0, 1)
    assert found == b"".join(frame[start : start + size] for _, _, start, size in spans)


def _spans(frames: str) -> list[Span]:
    """A span for each letter, which is its frame."""
    return [(0, ord(frame), at, 1) for at, frame in enumerate(frames)]


@pytest.mark.parametrize(
    ("frames", "limit", "far"),
    [
        ("aaabbbccc", 1, ""),
        ("ababab", 2, ""),
        ("ababab", 1, "b"),
        ("axbxcxdx", 1, "x"),  # one that lies between all others
        ("axbycxdye", 2, "y"),  # the one that is needed longest
        ("axbycxdye", 1, "xy"),
        ("abcdabcd", 0, "abcd"),
    ],
)
def test_frames_that_are_needed_longest_are_put_first(frames: str, limit: int, far: str) -> None:
    found = frames_to_put_first(_spans(frames), lambda _number, _frame: 1, limit)
    assert {chr(frame) for _, frame in found} == set(far)


@pytest.mark.slow
def test_frames_of_many_small_changes_are_decompressed_once_each(
    bench: Bench, decompressed: Counter[tuple[int, int]]
) -> None:
    content = bytearray(os.urandom(SIZE))
    (bench.work / "large").write_bytes(content)
    index = bench.backup("S0")
    for number in range(1, 13):  # each changes a place near the beginning and one near the end
        for at in (number * 40_000, SIZE // 2 + number * 40_000):
            content[at : at + 100] = os.urandom(100)
        (bench.work / "large").write_bytes(content)
        index = bench.backup(f"S{number}", index)
    entry = index.find(b"work/large")
    assert entry is not None
    assert _read(bench, index, entry) == content
    assert len(decompressed) > 12
    assert set(decompressed.values()) == {1}
