"""Chunks say where a file's bytes lie, in one piece or in many."""

from __future__ import annotations

from array import array

from scratchflow.archive.tree.chunks import Chunks, in_one_piece


def _chunks(*parts: tuple[int, int, int]) -> Chunks:
    archive, position, lengths = zip(*parts, strict=True)
    return Chunks(
        array("I", lengths), array("H", archive), array("Q", position), bytes(16 * len(parts))
    )


def test_chunks_that_follow_each_other_are_one_part() -> None:
    chunks = _chunks((0, 10, 5), (0, 15, 5), (1, 20, 5), (0, 20, 5), (0, 40, 1))
    assert chunks.parts() == [(0, 10, 10), (1, 20, 5), (0, 20, 5), (0, 40, 1)]
    assert chunks.place() is None


def test_chunks_in_one_piece_have_a_place() -> None:
    chunks = in_one_piece(array("I", [5, 7, 1]), bytes(48), 3, 100)
    assert chunks.place() == (3, 100)
    assert chunks.parts() == [(3, 100, 13)]
    assert list(chunks.each()) == [(3, 100, 5), (3, 105, 7), (3, 112, 1)]


def test_chunks_in_another_order_than_their_file_have_no_place() -> None:
    assert _chunks((0, 15, 5), (0, 10, 5)).place() is None
    assert _chunks((0, 10, 5), (1, 15, 5)).place() is None


def test_renumbered_chunks_lie_in_the_same_archives_under_other_numbers() -> None:
    chunks = _chunks((2, 10, 5), (7, 15, 5)).renumbered({2: 0, 7: 1})
    assert list(chunks.archive) == [0, 1]
    assert list(chunks.position) == [10, 15]


def test_each_chunk_has_its_own_digest() -> None:
    chunks = in_one_piece(array("I", [1, 1]), b"a" * 16 + b"b" * 16, 0, 0)
    assert list(chunks.each_digest(16)) == [b"a" * 16, b"b" * 16]
