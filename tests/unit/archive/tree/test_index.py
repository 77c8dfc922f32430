"""An index says where every byte is, and how much of each archive is still needed."""

from __future__ import annotations

import os
from array import array

import pytest

from scratchflow.archive.tree.index import ArchiveFrames, Index
from tests.unit.archive.conftest import Bench


@pytest.fixture
def history(bench: Bench) -> tuple[Index, Index]:
    """Two snapshots; the second needs `old` from the first, and no more."""
    (bench.work / "old").write_bytes(os.urandom(50_000))
    (bench.work / "gone").write_bytes(os.urandom(200_000))
    (bench.work / "linked").hardlink_to(bench.work / "old")
    (bench.work / "empty").write_bytes(b"")
    first = bench.backup("A")
    (bench.work / "gone").unlink()
    (bench.work / "new").write_bytes(os.urandom(10_000))
    return first, bench.backup("B", first)


def _entry(index: Index, path: bytes) -> int:
    entry = index.find(path)
    assert entry is not None
    return entry


def test_a_position_is_found_in_the_frame_that_holds_it() -> None:
    frames = ArchiveFrames("A", array("Q", [10, 15, 40]), array("Q", [7, 9, 20]))
    assert [frames.frame_at(position) for position in (0, 9, 10, 14, 15, 39)] == [0, 0, 1, 1, 2, 2]
    assert [frames.raw_start(frame) for frame in range(3)] == [0, 10, 15]
    assert [frames.packed_start(frame) for frame in range(3)] == [0, 7, 9]


def test_only_archives_that_are_read_from_are_needed(history: tuple[Index, Index]) -> None:
    first, second = history
    assert first.needs == []
    assert second.needs == ["A"]


def test_a_file_that_did_not_change_has_its_old_place_and_digest(
    history: tuple[Index, Index],
) -> None:
    first, second = history
    old, again = _entry(first, b"work/old"), _entry(second, b"work/old")
    assert first.place(old) == second.place(again)
    assert first.digest_of(old) == second.digest_of(again)
    place = second.place(_entry(second, b"work/new"))
    assert [part[0] for part in place] == ["B"]
    assert second.place(_entry(second, b"work")) == []


def test_uses_count_what_is_live_and_further_names_not_at_all(
    history: tuple[Index, Index],
) -> None:
    uses = {use.id: use for use in history[1].uses()}
    assert 50_000 <= uses["A"].live_bytes < 60_000
    assert uses["A"].stored_bytes > 250_000
    assert 10_000 <= uses["B"].live_bytes <= uses["B"].stored_bytes


def test_a_file_with_holes_takes_the_bytes_that_it_has(bench: Bench) -> None:
    with (bench.work / "sparse").open("wb") as file:
        file.write(b"x" * 4096)
        file.truncate(10 << 20)
    if (bench.work / "sparse").stat().st_blocks > 1000:
        pytest.skip("this file system has no holes")
    index = bench.backup("A")
    entry = _entry(index, b"work/sparse")
    assert index.size[entry] == 10 << 20
    assert index.stored_size(entry) < 1 << 20
