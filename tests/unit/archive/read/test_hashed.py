"""A file that is read in order is hashed as it is read, whatever is taken of it and how."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.archive.format.container import FOOTER_BYTES
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.hashed import HashedFile

CONTENT = os.urandom(3_000_000)


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "file").write_bytes(CONTENT)
    found = os.open(tmp_path / "file", os.O_RDONLY)
    yield found
    os.close(found)


def _hashes(content: bytes) -> tuple[bytes, str]:
    whole = hashlib.sha256(content).hexdigest()
    return hashlib.sha256(content[: max(0, len(content) - FOOTER_BYTES)]).digest(), whole


@pytest.mark.parametrize("counts", [[], [1], [5000, 1_200_000, 3], [len(CONTENT) - FOOTER_BYTES]])
def test_the_hashes_are_those_of_the_whole_file(descriptor: int, counts: list[int]) -> None:
    file = HashedFile(descriptor)
    at = 0
    for count in counts:
        room = bytearray(count)
        file.fill(memoryview(room))
        assert room == CONTENT[at : at + count]
        file.take(memoryview(room))
        at += count
    assert file.finish() == _hashes(CONTENT)


@pytest.mark.parametrize("size", [0, 1, FOOTER_BYTES, FOOTER_BYTES + 1])
def test_a_file_may_be_as_short_as_it_likes(tmp_path: Path, size: int) -> None:
    (tmp_path / "short").write_bytes(CONTENT[:size])
    with (tmp_path / "short").open("rb") as file:
        assert HashedFile(file.fileno()).finish() == _hashes(CONTENT[:size])


def test_what_was_read_and_not_hashed_is_read_again_at_the_end(descriptor: int) -> None:
    file = HashedFile(descriptor)
    rooms = [memoryview(bytearray(count)) for count in (5000, 70_000, 300)]
    for room in rooms:
        file.fill(room)
    file.take(rooms[0])
    assert file.finish() == _hashes(CONTENT)


def test_more_than_there_is_cannot_be_had_and_leaves_the_hashes_as_they_are(
    descriptor: int,
) -> None:
    file = HashedFile(descriptor)
    with pytest.raises(Malformed, match="cut short"):
        file.fill(memoryview(bytearray(len(CONTENT) + 1)))
    assert file.finish() == _hashes(CONTENT)


def test_progress_is_told_on_the_way(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scratchflow.archive.read.hashed._REPORT_EVERY_BYTES", 1 << 20)
    told: list[int] = []
    HashedFile(descriptor).finish(told.append)
    assert told == [1 << 20, 2 << 20]
