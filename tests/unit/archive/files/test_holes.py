"""Holes are found where they are; what has none is stored as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.archive.files.holes import MIN_SPARSE_BYTES, data_extents, hole_allowance

_MIB = 1 << 20


def _extents(path: Path) -> list[int] | None:
    with path.open("rb") as file:
        return data_extents(file.fileno(), os.fstat(file.fileno()))


def _make(path: Path, size: int, *offsets: int) -> Path:
    with path.open("wb") as file:
        for offset in offsets:
            file.seek(offset)
            file.write(b"x" * 4096)
        file.truncate(size)
    return path


def _skip_without_holes(path: Path) -> None:
    if _make(path, 4 * _MIB).stat().st_blocks * 512 >= 4 * _MIB:
        pytest.skip("this file system has no holes")


@pytest.mark.parametrize("offsets", [[], [0], [2 * _MIB], [_MIB, 3 * _MIB], [4 * _MIB - 4096]])
def test_every_byte_outside_the_stretches_is_zero(tmp_path: Path, offsets: list[int]) -> None:
    _skip_without_holes(tmp_path / "probe")
    path = _make(tmp_path / "sparse", 4 * _MIB, *offsets)
    extents = _extents(path)
    assert extents is not None
    content, again = path.read_bytes(), bytearray(4 * _MIB)
    for start, length in zip(extents[::2], extents[1::2], strict=True):
        assert length > 0
        again[start : start + length] = content[start : start + length]
    assert bytes(again) == content
    assert sum(extents[1::2]) < 2 * _MIB
    assert extents[::2] == sorted(extents[::2])


def test_a_file_that_is_only_a_hole_has_no_stretches(tmp_path: Path) -> None:
    _skip_without_holes(tmp_path / "probe")
    assert _extents(_make(tmp_path / "empty", _MIB)) == []


def test_files_without_holes_or_too_small_for_them_have_none(tmp_path: Path) -> None:
    (tmp_path / "full").write_bytes(os.urandom(2 * MIN_SPARSE_BYTES))
    assert _extents(tmp_path / "full") is None
    assert _extents(_make(tmp_path / "small", MIN_SPARSE_BYTES - 1)) is None
    assert _extents(_make(tmp_path / "nothing", 0)) is None


def test_a_file_that_shrinks_under_our_eyes_gives_no_stretch_beyond_its_end(tmp_path: Path) -> None:
    _skip_without_holes(tmp_path / "probe")
    path = _make(tmp_path / "sparse", 4 * _MIB, 0, 3 * _MIB)
    with path.open("r+b") as file:
        before = os.fstat(file.fileno())
        file.truncate(_MIB)
        extents = data_extents(file.fileno(), before)
    assert extents is not None
    assert all(
        start + length <= _MIB for start, length in zip(extents[::2], extents[1::2], strict=True)
    )


def test_an_archive_may_have_an_empty_database_of_a_tebibyte_but_not_endless_holes() -> None:
    assert hole_allowance(1000) > 1 << 40
    assert hole_allowance(1000) < 1 << 44
    assert hole_allowance(1 << 30) > hole_allowance(1000)
