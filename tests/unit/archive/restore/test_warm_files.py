"""Large files may come from another copy on this machine: equal, never linked, and never believed unread."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from scratchflow.archive.restore import extract
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.unit.archive.conftest import Bench, tree_state

pytestmark = [
    pytest.mark.slow,  # many backups
    pytest.mark.usefixtures("with_and_without_helpers"),
]


@pytest.fixture
def index(bench: Bench) -> Index:
    """Of two large files, one with a hole, and a small one."""
    chance = random.Random(1)  # noqa: S311 - data
    (bench.work / "large").write_bytes(chance.randbytes(2 * FRAME_BYTES))
    with (bench.work / "holes").open("wb") as file:
        file.write(chance.randbytes(FRAME_BYTES + 1))
        file.seek(40 * FRAME_BYTES)
        file.write(chance.randbytes(FRAME_BYTES))
    (bench.work / "small").write_text("small")
    return bench.backup("A")


def taken(bench: Bench, index: Index, name: str = "copy") -> Path:
    target = bench.home / name
    target.mkdir()
    extract.extract(index, bench.path, target, warn=bench.warn, existing="none", warm=bench.scratch)
    return target


def spoil(bench: Bench) -> None:
    """Damages every byte of the large files in the archive."""
    whole = bench.path("A").read_bytes()
    middle = FRAME_BYTES // 2
    bench.path("A").write_bytes(
        whole[:middle] + bytes(2 * FRAME_BYTES) + whole[middle + 2 * FRAME_BYTES :]
    )


def test_what_is_equal_there_is_not_read_from_the_archive(bench: Bench, index: Index) -> None:
    before = tree_state(bench.scratch)
    spoil(bench)
    with pytest.raises(SnapshotDamaged):
        bench.restore(index)
    copy = taken(bench, index)
    assert tree_state(copy) == before
    assert tree_state(bench.scratch) == before
    for name in ("large", "holes"):
        assert not (copy / "work" / name).samefile(bench.work / name)
    assert (copy / "work/holes").stat().st_blocks == (bench.work / "holes").stat().st_blocks


@pytest.mark.parametrize("how", ["changed", "shorter", "gone", "link", "directory", "closed"])
def test_what_is_not_equal_comes_from_the_archive(bench: Bench, index: Index, how: str) -> None:
    before = tree_state(bench.scratch)
    large = bench.work / "large"
    stamp = large.stat()
    if how == "changed":
        with large.open("r+b") as file:
            file.seek(FRAME_BYTES)
            file.write(b"another")
    elif how == "shorter":
        os.truncate(large, FRAME_BYTES)
    elif how == "closed":
        large.chmod(0)
    else:
        large.rename(bench.home / "elsewhere")
    if how == "link":
        large.symlink_to(bench.home / "elsewhere")
    elif how == "directory":
        large.mkdir()
    if how in {"changed", "shorter"}:
        os.utime(large, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert tree_state(taken(bench, index)) == before


def test_a_file_that_is_cut_while_it_is_read_comes_from_the_archive(
    bench: Bench, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree_state(bench.scratch)
    real = os.pread

    def cut(descriptor: int, length: int, offset: int) -> bytes:
        os.truncate(bench.work / "large", 0)
        return real(descriptor, length, offset)

    monkeypatch.setattr("scratchflow.archive.restore.warm_files.os.pread", cut)
    assert tree_state(taken(bench, index)) == before
