"""Chunks that an archive holds are referred to; those that none holds are stored, each once."""

from __future__ import annotations

import os
from array import array

import pytest

from scratchflow.archive.files.chunker import Window
from scratchflow.archive.tree.chunks import in_one_piece
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.large_files import KnownChunks, NewFile
from tests.unit.archive.conftest import Bench

pytestmark = pytest.mark.usefixtures("small_chunks")

OWN = 1


@pytest.fixture
def first(bench: Bench) -> Index:
    (bench.work / "large").write_bytes(os.urandom(300_000))
    return bench.backup("A")


def _digest(letter: str) -> bytes:
    return letter.encode() * 16


def _window(chunks: str, length: int = 10) -> Window:
    """A window with a chunk for each letter."""
    digests = b"".join(map(_digest, chunks))
    return Window(memoryview(b""), array("I", [length] * len(chunks)), digests)


def _known(chunks: str, length: int = 10) -> KnownChunks:
    """Chunks of an archive with number 0, from position 500 on."""
    known = KnownChunks(None)
    window = _window(chunks, length)
    known.note(in_one_piece(window.lengths, window.digests, 0, 500))
    return known


def test_known_chunks_are_referred_to_and_others_stored_once() -> None:
    new = NewFile(_known("ab"), OWN)
    for chunks, expected, position in (("xaxyb", "xy", 5000), ("yzb", "z", 7000)):
        window = _window(chunks)
        stretches = new.new_in(window)
        assert [digest for _, _, digest in stretches] == list(map(_digest, expected))
        assert [start for start, _, _ in stretches] == [10 * chunks.index(one) for one in expected]
        new.add(window, stretches, position)
    x, y, z, a, b = (OWN, 5000), (OWN, 5010), (OWN, 7000), (0, 500), (0, 510)
    assert [part[:2] for part in new.chunks.each()] == [x, a, x, y, b, y, z, b]
    assert set(new.chunks.lengths) == {10}
    assert list(new.chunks.each_digest(16)) == list(map(_digest, "xaxybyzb"))


def test_chunks_of_a_file_are_known_to_the_next_when_they_were_noted() -> None:
    known = _known("a")
    new = NewFile(known, OWN)
    window = _window("x")
    new.add(window, new.new_in(window), 9)
    assert known.find(_digest("x"), 10) is None
    known.note(new.chunks)
    assert known.find(_digest("x"), 10) == (OWN, 9, 10)


def test_a_known_digest_of_another_length_is_not_the_same_chunk() -> None:
    known = _known("a", length=9)
    assert known.find(_digest("a"), 10) is None
    assert len(NewFile(known, OWN).new_in(_window("a"))) == 1


def test_the_chunks_that_a_parent_lists_are_known(first: Index) -> None:
    known = KnownChunks(first)
    (chunks,) = first.chunks.values()
    for digest, part in zip(chunks.each_digest(16), chunks.each(), strict=True):
        assert known.find(digest, part[2]) == part
