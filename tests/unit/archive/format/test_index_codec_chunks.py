"""An index brings its chunks through a file and back, and old indexes have none."""

from __future__ import annotations

import hashlib
import os
from array import array

import msgspec

from scratchflow.archive.format.container import INDEX_MAGIC, split_skippable
from scratchflow.archive.format.index_codec import Header, dump_index, load_index
from scratchflow.archive.tree.chunks import Chunks, in_one_piece
from scratchflow.archive.tree.index import NOWHERE, Index
from tests.unit.archive.conftest import Bench


def _again(index: Index) -> Index:
    region = b"".join(dump_index(index))
    return load_index(region, hashlib.sha256(region).digest())


def _entry(index: Index, path: bytes) -> int:
    entry = index.find(path)
    assert entry is not None
    return entry


def test_chunks_come_back_as_they_were(bench: Bench) -> None:
    for name in ("a", "b"):
        (bench.work / name).write_bytes(os.urandom(100_000))
    index = bench.backup("A")
    whole, scattered = _entry(index, b"work/a"), _entry(index, b"work/b")
    start = index.position[whole]
    lengths = array("I", [30_000, 70_000])
    index.chunks[whole] = in_one_piece(lengths, os.urandom(32), 0, start)
    positions = array("Q", [start + 30_000, start])
    index.chunks[scattered] = Chunks(lengths[::-1], array("H", [0, 0]), positions, os.urandom(32))
    index.archive[scattered], index.position[scattered] = NOWHERE, 0
    again = _again(index)
    assert again.chunks == index.chunks
    assert again.parts(whole) == [(0, start, 100_000)]
    assert again.parts(scattered) == [(0, start + 30_000, 70_000), (0, start, 30_000)]
    assert again.is_scattered(scattered)
    assert not again.is_scattered(whole)


def test_an_index_without_chunks_has_no_trace_of_them(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"a")
    index = bench.backup("A")
    frames = split_skippable(memoryview(b"".join(dump_index(index))), INDEX_MAGIC)
    header = msgspec.msgpack.decode(frames[0], type=Header)
    assert not [name for name, _ in header.pieces if name.startswith("chunk")]
    assert _again(index).chunks == {}


def test_chunks_take_a_thousandth_of_the_data_at_most(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"a")
    index = bench.backup("A")
    bare = len(b"".join(dump_index(index)))
    count = 10_000
    lengths = array("I", (200_000 + 17 * number % 99_991 for number in range(count)))
    entry = _entry(index, b"work/a")
    index.chunks[entry] = in_one_piece(lengths, os.urandom(16 * count), 0, 512)
    assert len(b"".join(dump_index(index))) - bare < sum(lengths) / 1000
