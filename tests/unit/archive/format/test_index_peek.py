"""A look at one path of an index says the same as the whole index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.archive.format.index_codec import read_header, unshuffled
from scratchflow.archive.format.index_peek import IndexPeek
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.archive_file import open_index, read_index
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR, SYMLINK
from tests.odd_tree import make_odd_tree
from tests.unit.conftest import Desk


def region_of(archive: Path) -> tuple[bytes, bytes]:
    return read_index(archive, lambda region, sha256: (region, sha256))


def saved(desk: Desk) -> Path:
    return desk.place.archive(desk.backup().snapshot or "")


@pytest.mark.slow
def test_every_path_is_found_with_the_values_of_the_whole_index(desk: Desk) -> None:
    make_odd_tree(desk.work / "odd")
    for number in range(700):  # their names fill several blocks
        desk.write(f"work/many/{number // 90}/a rather long name of a file, {number}", str(number))
    archive = saved(desk)
    index, peek = open_index(archive), IndexPeek(*region_of(archive))
    assert (peek.seed, peek.hardlinks) == (index.seed, index.hardlinks)
    assert index.hardlinks
    for entry in range(len(index)):
        assert peek.find(index.path(entry)) == entry
        mode = index.mode[entry]
        values = (mode, index.size[entry], index.mtime_ns[entry])
        assert (peek.mode(entry), peek.size(entry), peek.mtime_ns(entry)) == values
        if mode & KIND_MASK == REGULAR:
            assert peek.digest(entry) == index.digest_of(entry)
        if mode & KIND_MASK == SYMLINK:
            assert peek.target(entry) == index.target(entry)


@pytest.mark.parametrize(
    "path", ["none", "work/none", "work/README/x", "work/src/", "", "zzz", "work//README"]
)
def test_what_is_not_there_is_not_found(desk: Desk, path: str) -> None:
    assert IndexPeek(*region_of(saved(desk))).find(os.fsencode(path)) is None


def test_damage_is_found(desk: Desk) -> None:
    region, sha256 = region_of(saved(desk))
    damaged = bytes([*region[:-1], region[-1] ^ 1])
    for look in (IndexPeek, read_header):
        with pytest.raises(Malformed, match="damaged"):
            look(damaged, sha256)


def test_a_piece_that_does_not_hold_whole_values_is_malformed() -> None:
    with pytest.raises(Malformed, match="impossible length"):
        unshuffled(b"12345", 2)
