"""Damage is noticed: by `verify`, and by a restore before a wrong file stands under its name."""

from __future__ import annotations

import errno
import os
import random
import stat
import threading
from pathlib import Path

import pytest

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read import verify
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.restore import extract
from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.unit.archive.conftest import Bench, fill, tree_state

FLIPS = int(os.environ.get("SCRATCHFLOW_TEST_FLIPS", "300"))
TRUNCATIONS = int(os.environ.get("SCRATCHFLOW_TEST_TRUNCATIONS", "100"))


def _archive(bench: Bench) -> Path:
    fill(bench.work)
    (bench.work / "large").write_bytes(b"abcdefgh" * (FRAME_BYTES // 5))
    bench.backup("A")
    return bench.path("A")


def test_a_whole_archive_has_no_problems(bench: Bench) -> None:
    path = _archive(bench)
    assert verify.verify_archive(path, digest=WholeDigest().text(path.read_bytes())) == []
    assert verify.verify_archive(path, digest="xxh3:" + "0" * 32) == [
        "it does not match the digest in its manifest"
    ]


@pytest.mark.slow
def test_every_flipped_bit_is_noticed(bench: Bench) -> None:
    """Without the manifest: the archive alone tells."""
    path = _archive(bench)
    content = path.read_bytes()
    dice = random.Random(1)  # noqa: S311 - the same damage every time
    damaged = bench.store / "D.tar.lz4"
    for _ in range(FLIPS):
        position, bit = dice.randrange(len(content)), 1 << dice.randrange(8)
        flipped = bytearray(content)
        flipped[position] ^= bit
        damaged.write_bytes(flipped)
        assert verify.verify_archive(damaged, threads=1), (position, bit)


def test_every_truncation_is_noticed(bench: Bench) -> None:
    path = _archive(bench)
    content = path.read_bytes()
    dice = random.Random(2)  # noqa: S311 - the same damage every time
    damaged = bench.store / "D.tar.lz4"
    for length in [
        0,
        1,
        len(content) - 1,
        *(dice.randrange(len(content)) for _ in range(TRUNCATIONS)),
    ]:
        damaged.write_bytes(content[:length])
        assert verify.verify_archive(damaged, threads=1), length
        with pytest.raises(SnapshotDamaged):
            open_index(damaged)


def test_restoring_from_damage_leaves_no_wrong_file(bench: Bench) -> None:
    path = _archive(bench)
    good = tree_state(bench.scratch)
    content = path.read_bytes()
    index = open_index(path)
    end_of_data = index.archives[0].packed_ends[-1]
    dice = random.Random(3)  # noqa: S311 - the same damage every time
    for number in range(40):
        flipped = bytearray(content)
        flipped[dice.randrange(end_of_data)] ^= 1 << dice.randrange(8)
        path.write_bytes(flipped)
        target = bench.home / f"t{number}"
        target.mkdir()
        with pytest.raises(SnapshotDamaged):
            extract.extract(index, bench.path, target, warn=bench.warn)
        for name, state in tree_state(target).items():
            if not name.rsplit(b"/", 1)[-1].startswith(b".tmp-") and state[3] is not None:
                expected = good[name][3]
                found = state[3]
                assert found in (expected, expected[0] if isinstance(expected, tuple) else expected)


def test_missing_and_exchanged_archives_are_damage(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "new").write_bytes(b"n")
    second = bench.backup("B", first)
    (bench.work / "data").write_bytes(b"different")
    content = bench.path("A").read_bytes()
    bench.backup("A2", None)
    bench.path("A").write_bytes(bench.path("A2").read_bytes())
    assert verify.verify_archive(bench.path("B"), open_archive=bench.path)
    with pytest.raises(SnapshotDamaged):
        bench.restore(second)
    bench.path("A").unlink()
    assert verify.verify_archive(bench.path("B"), open_archive=bench.path)
    with pytest.raises(SnapshotDamaged, match="is missing"):
        bench.restore(second, "again")
    bench.path("A").write_bytes(content)
    assert verify.verify_archive(bench.path("B"), open_archive=bench.path) == []


def test_what_is_no_archive_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.lz4"
    assert "cannot be opened" in verify.verify_archive(path)[0]
    path.write_bytes(b"not an archive, but long enough to hold a footer" * 10)
    with pytest.raises(ScratchflowError, match="not one of ours"):
        open_index(path)


def _put_in_place(path: Path, what: str) -> None:
    if what == "directory":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    else:
        os.mknod(path, stat.S_IFSOCK | 0o600)


@pytest.mark.parametrize("what", ["directory", "fifo", "socket"])
def test_something_else_in_the_place_of_an_archive_is_damage(bench: Bench, what: str) -> None:
    path = _archive(bench)
    index = open_index(path)
    path.unlink()
    _put_in_place(path, what)
    assert verify.verify_archive(path)
    with pytest.raises(SnapshotDamaged):
        open_index(path)
    with pytest.raises(SnapshotDamaged):
        bench.restore(index)


def test_bytes_that_the_disk_does_not_give_are_damage(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _archive(bench)

    def broken(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "preadv", broken)
    assert "Input/output error" in verify.verify_archive(path)[0]


@pytest.mark.slow
def test_every_byte_is_read_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.work / "large").write_bytes(os.urandom(5 * FRAME_BYTES))
    bench.backup("A")
    read: list[int] = []
    real = os.preadv

    def counted(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        read.append(real(descriptor, buffers, offset))
        return read[-1]

    monkeypatch.setattr(os, "preadv", counted)
    assert verify.verify_archive(bench.path("A")) == []
    assert sum(read) == bench.path("A").stat().st_size


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.slow
def test_damage_in_any_frame_is_named_and_ends_the_threads(bench: Bench, threads: int) -> None:
    (bench.work / "large").write_bytes(os.urandom(20 * FRAME_BYTES))
    bench.backup("A")
    path = bench.path("A")
    content = bytearray(path.read_bytes())
    content[3 * FRAME_BYTES] ^= 1
    path.write_bytes(content)
    before = threading.active_count()
    problems = verify.verify_archive(path, threads=threads)
    assert "frame 2" in problems[0] or "frame 3" in problems[0]
    assert "digest in its footer" in problems[1]
    assert threading.active_count() == before
