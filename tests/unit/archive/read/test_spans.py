"""A frame that the chunks of a file lie in by turns is decompressed once."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from scratchflow.archive.read import spans as spans_module
from scratchflow.archive.read.reader import Archives
from scratchflow.archive.read.spans import SpanReader
from scratchflow.archive.tree.index import Index
from tests.unit.archive.conftest import Bench

pytestmark = pytest.mark.usefixtures("small_chunks")

SIZE = 6_000_000


@pytest.fixture
def decompressed(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[int, int]]:
    """How often each frame was decompressed whole."""
    found: Counter[tuple[int, int]] = Counter()
    real = Archives.frame

    def noted(self: Archives, number: int, frame: int) -> bytes:
        found[number, frame] += 1
        return real(self, number, frame)

    monkeypatch.setattr(Archives, "frame", noted)
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
        spans = list(archives.spans_of(entry))
        return b"".join(map(SpanReader(archives, spans).content, spans))


def test_every_frame_is_decompressed_once(
    bench: Bench, decompressed: Counter[tuple[int, int]]
) -> None:
    index, entry, content = _changed_in_places(bench, 12)
    assert _read(bench, index, entry) == content
    assert decompressed
    assert set(decompressed.values()) == {1}


def test_frames_that_do_not_fit_are_decompressed_again(
    bench: Bench, decompressed: Counter[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    index, entry, content = _changed_in_places(bench, 40)
    monkeypatch.setattr(spans_module, "MAX_KEPT_BYTES", 0)
    assert _read(bench, index, entry) == content
    assert max(decompressed.values()) > 1


def test_of_a_frame_that_little_is_wanted_of_only_that_is_read(
    bench: Bench, decompressed: Counter[tuple[int, int]]
) -> None:
    index, _, _ = _changed_in_places(bench, 12)
    with Archives(index, bench.path) as archives:
        spans = [(0, 1, 90_000, 5000), (0, 1, 1_000_000, 300_000)]
        found = list(map(SpanReader(archives, spans).content, spans))
        assert not decompressed
        frame = archives.frame(0, 1)
    assert list(map(bytes, found)) == [frame[start : start + size] for _, _, start, size in spans]


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
