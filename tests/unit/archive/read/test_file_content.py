"""Stored pieces come at their places, and holes between them as zeros, however the pieces are cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.archive.read.file_content import damaged_content, placed, with_holes, zero_pieces
from tests.unit.archive.conftest import Bench, fill

Extents = list[tuple[int, bytes]]


def _cut(stored: bytes, every: int) -> Iterator[memoryview]:
    return (memoryview(stored)[at : at + every] for at in range(0, len(stored), every))


@st.composite
def sparse_files(draw: st.DrawFn) -> tuple[Extents, int]:
    """Stretches of bytes in their order, and the size of the file, which may end with a hole."""
    extents: Extents = []
    at = 0
    for _ in range(draw(st.integers(0, 5))):
        at += draw(st.integers(0, 40))
        content = draw(st.binary(max_size=30))
        extents.append((at, content))
        at += len(content)
    return extents, at + draw(st.integers(0, 40))


@given(sparse_files(), st.integers(1, 50))
def test_a_sparse_file_is_read_as_it_was(file: tuple[Extents, int], every: int) -> None:
    extents, size = file
    whole = bytearray(size)
    for offset, content in extents:
        whole[offset : offset + len(content)] = content
    listed = [number for offset, content in extents for number in (offset, len(content))]
    stored = b"".join(content for _, content in extents)
    assert b"".join(with_holes(_cut(stored, every), listed, size)) == whole
    again = bytearray(size)
    for offset, piece in placed(_cut(stored, every), listed):
        again[offset : offset + len(piece)] = piece
    assert again == whole


def test_a_file_without_holes_is_its_pieces() -> None:
    assert b"".join(with_holes(_cut(b"abcdef", 4), None, 6)) == b"abcdef"


@pytest.mark.parametrize("count", [0, 1, 1 << 20, (5 << 20) + 3])
def test_any_number_of_zeros(count: int) -> None:
    pieces = list(zero_pieces(count))
    assert bytes(count) == b"".join(pieces)
    assert all(len(piece) <= 1 << 20 for piece in pieces)


def test_a_file_that_does_not_match_is_named_with_the_archive_that_holds_it(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "new").write_bytes(b"later")
    index = bench.backup("B", first)
    entry = next(one for one in range(len(index)) if index.path(one) == b"work/new")
    error = damaged_content(index, entry)
    assert "`work/new`" in str(error)
    assert error.fields["archive"] == "B"
