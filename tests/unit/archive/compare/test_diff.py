"""Which paths differ between two snapshots: all of them, each once, and no others."""

from __future__ import annotations

import os

from scratchflow.archive.compare.diff import difference
from tests.unit.archive.conftest import Bench, fill


def test_every_kind_of_change_is_told_once(bench: Bench) -> None:
    fill(bench.work)
    (bench.work / "was-dir/inside").mkdir(parents=True)
    first = bench.backup("A")
    (bench.work / "data").write_bytes(b"other")
    (bench.work / "bin/tool").chmod(0o700)
    (bench.work / "bin/python").unlink()
    (bench.work / "bin/python").symlink_to("elsewhere")
    (bench.work / "src/empty").rename(bench.work / "src/moved")
    (bench.work / "was-dir/inside").rmdir()
    (bench.work / "was-dir").rmdir()
    (bench.work / "was-dir").write_bytes(b"")
    second = bench.backup("B", first)
    found = list(difference(first, second))
    assert len(found) == len(set(found))
    assert set(found) == {
        ("changed", b"work/data"),
        ("changed", b"work/bin/tool"),
        ("changed", b"work/bin/python"),
        ("added", b"work/src/moved"),
        ("removed", b"work/src/empty"),
        ("changed", b"work/was-dir"),
        ("removed", b"work/was-dir/inside"),
    }
    assert [path for action, path in found if action == "removed"] == sorted(
        path for action, path in found if action == "removed"
    )


def test_times_of_directories_and_of_files_with_the_same_bytes_are_no_change(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    os.utime(bench.work / "src", ns=(0, 1))
    os.utime(bench.work / "data", ns=(0, 1))
    assert list(difference(first, bench.backup("B", first))) == []


def test_bytes_of_the_same_size_and_time_differ_by_their_digest(bench: Bench) -> None:
    (bench.work / "f").write_bytes(b"one")
    os.utime(bench.work / "f", ns=(0, 7))
    first = bench.backup("A")
    (bench.work / "f").write_bytes(b"two")
    os.utime(bench.work / "f", ns=(0, 7))
    assert list(difference(first, bench.backup("B", first))) == [("changed", b"work/f")]


def test_snapshots_without_a_common_history_are_compared_by_size_and_time(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    os.utime(bench.work / "data", ns=(0, 1))
    second = bench.backup("B")
    assert first.seed != second.seed
    assert list(difference(first, second)) == [("changed", b"work/data")]
