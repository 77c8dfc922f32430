"""A file that is read in order is hashed as it is read, whatever is taken of it and how."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.archive.format.container import FOOTER_BYTES
from scratchflow.archive.format.whole_digest import SHA256, XXH3, WholeDigest
from scratchflow.archive.read.hashed import HashedFile

CONTENT = os.urandom(3_000_000)


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "file").write_bytes(CONTENT)
    found = os.open(tmp_path / "file", os.O_RDONLY)
    yield found
    os.close(found)


def _digests(content: bytes, kind: str = XXH3) -> tuple[str, str]:
    before = content[: max(0, len(content) - FOOTER_BYTES)]
    return WholeDigest(kind).text(before), WholeDigest(kind).text(content)


@pytest.mark.parametrize("counts", [[], [1], [5000, 1_200_000, 3], [len(CONTENT) - FOOTER_BYTES]])
def test_the_digests_are_those_of_the_whole_file(descriptor: int, counts: list[int]) -> None:
    file = HashedFile(descriptor)
    at = 0
    for count in counts:
        room = bytearray(count)
        file.fill(memoryview(room))
        assert room == CONTENT[at : at + count]
        at += count
    assert file.finish() == _digests(CONTENT)


@pytest.mark.parametrize("size", [0, 1, FOOTER_BYTES, FOOTER_BYTES + 1])
def test_a_file_may_be_as_short_as_it_likes(tmp_path: Path, size: int) -> None:
    (tmp_path / "short").write_bytes(CONTENT[:size])
    with (tmp_path / "short").open("rb") as file:
        assert HashedFile(file.fileno()).finish() == _digests(CONTENT[:size])


def test_they_are_of_the_kind_that_is_asked_for(descriptor: int) -> None:
    file = HashedFile(descriptor, "sha256:ab")
    file.fill(memoryview(bytearray(5000)))
    assert file.finish() == _digests(CONTENT, SHA256)
