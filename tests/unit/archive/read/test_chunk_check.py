"""Chunks are compared with their digests while a tar stream passes by in pieces of any size."""

from __future__ import annotations

import os
from array import array

import pytest

from scratchflow.archive.files.digest import digest_of_bytes
from scratchflow.archive.read.chunk_check import ChunkCheck, own_chunks
from scratchflow.archive.tree.chunks import Chunks
from scratchflow.archive.tree.index import Index

STREAM = os.urandom(10_000)
PLACES = [(1000, 500), (1500, 1), (1501, 2000), (6000, 4000)]


def _index() -> Index:
    """One file with four chunks in archive 0, and one in archive 1."""
    index = Index("A")
    index.seed = 77
    index.mode = array("H", [0o100644])
    digests = b"".join(digest_of_bytes(STREAM[at : at + size], 77) for at, size in PLACES)
    index.chunks[0] = Chunks(
        array("I", [*(size for _, size in PLACES), 9]),
        array("H", [0, 0, 0, 0, 1]),
        array("Q", [*(at for at, _ in PLACES), 3]),
        digests + bytes(16),
    )
    return index


def _pass_by(check: ChunkCheck, stream: bytes, each: int, start: int = 0) -> bytes:
    view = memoryview(stream)
    pieces = (view[at : at + each] for at in range(0, len(view), each))
    return b"".join(check.watch(pieces, start))


@pytest.mark.parametrize("each", [1, 7, 500, 2000, 9999, 10_000])
def test_chunks_are_seen_whatever_the_pieces(each: int) -> None:
    check = ChunkCheck(77, own_chunks(_index(), 0))
    assert _pass_by(check, STREAM, each) == STREAM
    assert not check.unseen


def test_only_the_chunk_with_a_wrong_byte_stays_unseen() -> None:
    damaged = bytearray(STREAM)
    damaged[3500] ^= 1
    check = ChunkCheck(77, own_chunks(_index(), 0))
    _pass_by(check, bytes(damaged), 300)
    assert [chunk[:2] for chunk in check.unseen] == [(1501, 2000)]
    assert check.are_seen(0, 1501)
    assert not check.are_seen(0, 1502)
    assert check.are_seen(1502, len(STREAM))


def test_chunks_outside_of_what_passes_stay_unseen() -> None:
    check = ChunkCheck(77, own_chunks(_index(), 0))
    _pass_by(check, STREAM[1000:1501], 100, start=1000)
    assert {chunk[:2] for chunk in check.unseen} == {(1501, 2000), (6000, 4000)}
    _pass_by(check, STREAM[1501:], 100, start=1501)
    assert not check.unseen


def test_a_chunk_that_passes_in_part_stays_unseen() -> None:
    check = ChunkCheck(77, own_chunks(_index(), 0))
    _pass_by(check, STREAM[1001:3000], 100, start=1001)
    assert {chunk[:2] for chunk in check.unseen} == {(1000, 500), (1501, 2000), (6000, 4000)}


def test_chunks_of_other_archives_are_not_this_ones() -> None:
    assert own_chunks(_index(), 1) == {(3, 9, bytes(16))}


@pytest.mark.parametrize("each", [1, 7, 500, 10_000])
def test_contents_may_overlap(each: int) -> None:
    places = [(0, 10_000), (10, 3000), (10, 20), (2000, 5000), (9999, 1)]
    contents = {(at, size, digest_of_bytes(STREAM[at : at + size], 77)) for at, size in places}
    check = ChunkCheck(77, contents)
    wrong = (2000, 5000, bytes(16))
    check.add([wrong])
    assert _pass_by(check, STREAM, each) == STREAM
    assert check.unseen == {wrong}
    assert set(check.seen()) == contents
