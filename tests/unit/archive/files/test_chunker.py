"""A file is cut where its content says so: what moved is cut in the same way again."""

from __future__ import annotations

import os
import random
import sys
from itertools import accumulate
from pathlib import Path

import pytest

from scratchflow.archive.files import chunker
from scratchflow.archive.files.chunker import (
    CHUNK_BYTES,
    MAX_CHUNK_BYTES,
    MIN_CHUNK_BYTES,
    CutFile,
    cut_blocks,
    cut_file,
    cutter_at_content,
)
from scratchflow.archive.files.digest import digest_of_bytes

SEED = 99


def _cut(tmp_path: Path, content: bytes, cutter: chunker.Cutter | None = None) -> CutFile:
    path = tmp_path / "file"
    path.write_bytes(content)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = cut_file(descriptor, len(content), SEED, cutter=cutter)
    finally:
        os.close(descriptor)
    assert found is not None
    return found


def _random(count: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(count)  # noqa: S311 - the same in every run


def _each(cut: CutFile) -> list[bytes]:
    return [cut.digests[at : at + 16] for at in range(0, len(cut.digests), 16)]


@pytest.mark.parametrize("size", [1, 1000, 300_000, 8 << 20, (8 << 20) + 1, 21_000_001])
@pytest.mark.parametrize("cutter", [None, cut_blocks])
def test_chunks_make_up_the_file_and_have_its_digests(
    tmp_path: Path, size: int, cutter: chunker.Cutter | None
) -> None:
    content = _random(size)
    cut = _cut(tmp_path, content, cutter)
    ends = list(accumulate(cut.lengths))
    assert ends[-1] == size
    parts = [content[end - length : end] for end, length in zip(ends, cut.lengths, strict=True)]
    assert _each(cut) == [digest_of_bytes(part, SEED) for part in parts]
    assert cut.digest == digest_of_bytes(content, SEED)
    assert max(cut.lengths) <= MAX_CHUNK_BYTES
    assert all(length >= MIN_CHUNK_BYTES for length in cut.lengths[:-1])


def test_a_file_is_cut_the_same_in_windows_as_in_one(tmp_path: Path) -> None:
    content = _random(40_000_000) + bytes(5_000_000) + _random(9_000_000, seed=2)
    assert list(_cut(tmp_path, content).lengths) == cutter_at_content()(memoryview(content))


@pytest.mark.parametrize("start", [0, 5_000_000, 16 << 20])
def test_an_insertion_changes_only_the_chunks_around_it(tmp_path: Path, start: int) -> None:
    content = _random(30_000_000)
    before = set(_each(_cut(tmp_path, content)))
    after = _each(_cut(tmp_path, content[:start] + b"inserted" * 13 + content[start:]))
    assert len([one for one in after if one not in before]) <= 3


def test_blocks_find_what_did_not_move(tmp_path: Path) -> None:
    content = bytearray(_random(12_000_000))
    before = set(_each(_cut(tmp_path, bytes(content), cut_blocks)))
    content[CHUNK_BYTES * 3 : CHUNK_BYTES * 3 + 5] = b"other"
    after = _each(_cut(tmp_path, bytes(content) + b"appended", cut_blocks))
    assert len([one for one in after if one not in before]) == 2


def test_a_file_shorter_than_expected_has_no_chunks(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"short")
    with path.open("rb") as file:
        assert cut_file(file.fileno(), 6, SEED) is None


def test_without_the_library_blocks_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyfastcdc", None)
    cut = _cut(tmp_path, _random(10_000_000))
    assert set(cut.lengths[:-1]) == {CHUNK_BYTES}


def test_nobody_reads_on_when_the_result_is_not_wanted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(_random(20_000_000))

    def refuse() -> None:
        raise InterruptedError

    with path.open("rb") as file, pytest.raises(InterruptedError):
        cut_file(file.fileno(), 20_000_000, SEED, check=refuse)
