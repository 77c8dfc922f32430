"""One path of an archive, and whether two states of it have the same content."""

from __future__ import annotations

import os
import stat

import msgspec
import pytest

from scratchflow.archive.read.path_state import PathState, has_same_content, read_state
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.unit.conftest import Desk

FILE = PathState(
    mode=stat.S_IFREG | 0o644, size=3, mtime_ns=5, digest=b"a" * 16, seed=1, target=b""
)


def test_each_name_of_a_hardlinked_file_has_its_content(desk: Desk) -> None:
    file = desk.write("work/a", "content")
    os.link(file, desk.work / "b")
    archive = desk.place.archive(desk.backup().snapshot or "")
    one, other = read_state(archive, b"work/a"), read_state(archive, b"work/b")
    assert one is not None
    assert one == other
    assert (one.size, one.kind) == (7, stat.S_IFREG)
    assert read_state(archive, b"work/c") is None


def test_an_archive_that_cannot_be_read_is_damaged(desk: Desk) -> None:
    archive = desk.place.archive(desk.backup().snapshot or "")
    os.truncate(archive, archive.stat().st_size - 1)
    with pytest.raises(SnapshotDamaged):
        read_state(archive, b"work/README")


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"mode": stat.S_IFREG | 0o755}, True),
        ({"mtime_ns": 6}, True),
        ({"digest": b"b" * 16}, False),
        ({"size": 4}, False),
        ({"mode": stat.S_IFLNK | 0o777}, False),
        # Digests of different histories say nothing about each other.
        ({"seed": 2, "digest": b"b" * 16}, True),
        ({"seed": 2, "mtime_ns": 6}, False),
    ],
)
def test_content_is_compared_by_digest_where_that_means_something(
    changes: dict[str, object], same: bool
) -> None:
    assert has_same_content(FILE, msgspec.structs.replace(FILE, **changes)) is same


def test_symlinks_are_the_same_when_they_lead_to_the_same() -> None:
    link = msgspec.structs.replace(FILE, mode=stat.S_IFLNK | 0o777, target=b"a")
    assert has_same_content(link, msgspec.structs.replace(link, mtime_ns=9))
    assert not has_same_content(link, msgspec.structs.replace(link, target=b"b"))
