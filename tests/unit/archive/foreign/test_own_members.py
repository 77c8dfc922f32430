"""A snapshot as members with their content: whole, from every archive it needs, and checked."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.foreign.own_members import OwnMembers
from scratchflow.archive.format.tar_reader import Member
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.unit.archive.conftest import Bench, fill


def _all(bench: Bench, index: Index) -> dict[bytes, tuple[Member, bytes]]:
    with OwnMembers(index, bench.path) as members:
        return {member.path: (member, b"".join(content)) for member, content in members}


@pytest.fixture
def index(bench: Bench) -> Index:
    """An incremental snapshot that needs the one before."""
    fill(bench.work)
    (bench.work / "large").write_bytes(os.urandom(FRAME_BYTES + 1000))
    first = bench.backup("A")
    (bench.work / "src/new").write_bytes(b"new")
    return bench.backup("B", first)


def test_every_path_comes_once_with_the_bytes_of_the_disk(bench: Bench, index: Index) -> None:
    found = _all(bench, index)
    assert sorted(found) == sorted(index.path(entry) for entry in range(len(index)))
    for path, (member, content) in found.items():
        disk = bench.scratch / os.fsdecode(path)
        if member.kind == "file":
            assert content == disk.read_bytes()
            assert member.mtime_ns == disk.stat().st_mtime_ns
            assert member.mode == disk.stat().st_mode & 0o7777
        elif member.kind == "symlink":
            assert member.link == os.fsencode(os.readlink(disk))
        else:
            assert content == b""


def test_further_names_come_after_their_files(bench: Bench, index: Index) -> None:
    with OwnMembers(index, bench.path) as members:
        kinds = [(member.kind, member.link) for member, _ in members]
    assert [kind for kind, _ in kinds].index("hardlink") == len(kinds) - 1
    assert kinds[-1][1] in {b"work/linked.c", b"work/src/main.c"}


def test_holes_are_left_out_and_still_count_for_the_digest(bench: Bench) -> None:
    with (bench.work / "sparse").open("wb") as file:
        file.seek(1 << 20)
        file.write(b"data")
        file.truncate(3 << 20)
    index = bench.backup("A")
    member, content = _all(bench, index)[b"work/sparse"]
    if member.extents is None:
        pytest.skip("this file system has no holes")
    assert len(content) == member.stored < member.size == 3 << 20
    assert content.startswith(b"data") or b"data" in content


def test_wrong_bytes_are_told_after_the_last_one(bench: Bench, index: Index) -> None:
    digest = bytearray(index.digest)
    entry = index.find(b"work/src/new")
    assert entry is not None
    digest[entry * 16] ^= 1
    index.digest = digest
    with pytest.raises(SnapshotDamaged):
        _all(bench, index)


def test_an_archive_that_is_gone_is_damage(bench: Bench, index: Index) -> None:
    bench.path("A").unlink()
    with pytest.raises(SnapshotDamaged):
        _all(bench, index)
