"""A delta keeps away from mount points: nothing at or beneath one is written, changed or removed."""

from __future__ import annotations

import shutil

from scratchflow.archive.compare.around_mounts import (
    chosen_beneath,
    kept_mounts,
    mount_in_the_way,
    spare_mounts,
)
from scratchflow.archive.compare.delta import Delta, find_delta
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree.index import Index
from tests.unit.archive.conftest import Bench


def _write(bench: Bench, *paths: str) -> None:
    for path in paths:
        (bench.work / path).parent.mkdir(parents=True, exist_ok=True)
        (bench.work / path).write_bytes(path.encode())


def _delta(bench: Bench, wanted: Index) -> tuple[Delta, ScannedTree]:
    scanned = bench.settled()
    return find_delta(scanned, None, None, wanted, bench.warn), scanned


def _removed(delta: Delta, scanned: ScannedTree) -> set[bytes]:
    return {scanned.path(entry) for entry in delta.remove}


def test_a_mount_and_the_directories_above_it_stay_and_their_neighbours_go(bench: Bench) -> None:
    _write(bench, "kept")
    wanted = bench.backup("A")
    _write(bench, "a/b/home/file", "a/b/other", "a/c/x", "a/b/home-2/y")
    delta, scanned = _delta(bench, wanted)
    mounts = [b"work/a/b/home"]
    assert kept_mounts(delta, scanned, mounts) == mounts
    assert mount_in_the_way(delta, scanned, wanted, mounts) is None
    spare_mounts(delta, scanned, wanted, mounts)
    assert _removed(delta, scanned) == {b"work/a/b/other", b"work/a/c", b"work/a/b/home-2"}


def test_without_mounts_nothing_is_changed(bench: Bench) -> None:
    _write(bench, "kept")
    wanted = bench.backup("A")
    _write(bench, "extra")
    delta, scanned = _delta(bench, wanted)
    spare_mounts(delta, scanned, wanted, [])
    assert _removed(delta, scanned) == {b"work/extra"}
    assert kept_mounts(delta, scanned, []) == []


def test_content_beneath_a_mount_is_in_the_way_and_a_longer_name_is_not(bench: Bench) -> None:
    _write(bench, "home/file", "home-2/file")
    wanted = bench.backup("A")
    shutil.rmtree(bench.work / "home-2")
    (bench.work / "home/file").unlink()
    delta, scanned = _delta(bench, wanted)
    assert mount_in_the_way(delta, scanned, wanted, [b"work/home"]) == b"work/home"
    assert mount_in_the_way(delta, scanned, wanted, [b"work/hom", b"work/home-"]) is None


def test_a_mount_where_the_snapshot_has_a_file_is_in_the_way(bench: Bench) -> None:
    _write(bench, "home")
    wanted = bench.backup("A")
    (bench.work / "home").unlink()
    (bench.work / "home/deep").mkdir(parents=True)
    delta, scanned = _delta(bench, wanted)
    for mount in (b"work/home", b"work/home/deep"):
        assert mount_in_the_way(delta, scanned, wanted, [mount]) == mount


def test_the_mode_of_a_mount_point_is_left_alone(bench: Bench) -> None:
    (bench.work / "home").mkdir()
    (bench.work / "other").mkdir()
    wanted = bench.backup("A")
    for name in ("home", "other"):
        (bench.work / name).chmod(0o700)
    delta, scanned = _delta(bench, wanted)
    spare_mounts(delta, scanned, wanted, [b"work/home"])
    changed = {wanted.path(entry) for entry in delta.metadata}
    assert b"work/home" not in changed
    assert b"work/other" in changed


def test_a_chosen_part_beneath_a_mount_is_told(bench: Bench) -> None:
    _write(bench, "home/file", "file")
    (bench.work / "empty").mkdir()
    index = bench.backup("A")

    def beneath(*patterns: str) -> bytes | None:
        mounts = [b"work/none", b"work/empty", b"work/home", b"work/file"]
        return chosen_beneath(index, Selection(index, patterns).entries, mounts)

    assert beneath("work/home/file") == b"work/home"
    assert beneath("work/file") == b"work/file"
    assert beneath("work/empty") is None
