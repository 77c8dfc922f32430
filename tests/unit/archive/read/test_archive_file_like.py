"""An index that is opened beside another one shares what both have, and nothing else."""

from __future__ import annotations

import os
from array import array

import pytest

from scratchflow.archive.format.index_check import UnsafeName, check_index
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.names import PackedNames
from tests.unit.archive.conftest import Bench, fill, tree_state

COLUMNS = ("mode", "size", "mtime_ns", "archive", "position", "flags", "children", "hardlinks")


def _same(one: Index, other: Index) -> bool:
    columns = all(getattr(one, name) == getattr(other, name) for name in COLUMNS)
    paths = [one.path(entry) for entry in range(len(one))]
    return columns and paths == [other.path(entry) for entry in range(len(other))]


def test_the_same_paths_are_shared_and_everything_else_is_its_own(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    (bench.work / "data").write_bytes(b"changed")
    (bench.work / "data").chmod(0o600)
    second = bench.backup("B", first)
    beside = open_index(bench.path("B"), like=first)
    assert beside.names is first.names
    assert _same(beside, second)
    assert beside.size != first.size
    assert tree_state(bench.restore(beside)) == tree_state(bench.scratch)


@pytest.mark.parametrize("change", ["name", "kind", "target", "more"])
def test_other_paths_are_not_shared(bench: Bench, change: str) -> None:
    fill(bench.work)
    (bench.work / "link").symlink_to("one")
    (bench.work / "zz").write_bytes(b"z")
    first = bench.backup("A")
    if change == "name":
        (bench.work / "zz").rename(bench.work / "zy")
    elif change == "kind":
        (bench.work / "zz").unlink()
        (bench.work / "zz").symlink_to("one")
    elif change == "target":
        (bench.work / "link").unlink()
        (bench.work / "link").symlink_to("two")
    else:
        (bench.work / "zzz").write_bytes(b"")
    second = bench.backup("B", first)
    beside = open_index(bench.path("B"), like=first)
    assert _same(beside, second)
    assert list(beside.targets) == list(second.targets)
    assert tree_state(bench.restore(beside)) == tree_state(bench.scratch)


def test_a_neighbour_excuses_nothing(bench: Bench) -> None:
    fill(bench.work)
    good = bench.backup("A")
    bad = open_index(bench.path("A"))
    bad.names = PackedNames(b".." if name == b"data" else name for name in good.names)
    with pytest.raises(UnsafeName):
        check_index(bad, like=good)
    bad = open_index(bench.path("A"))
    bad.position = array("Q", [1 << 40]) * len(bad)
    with pytest.raises(Malformed):
        check_index(bad, like=good)


def test_few_frames_are_shared_out(bench: Bench) -> None:
    """More files than a lot, all in one frame: each comes back once, whoever restores it."""
    for number in range(200):
        (bench.work / f"{number:03d}").write_bytes(os.urandom(20))
    first = bench.backup("A")
    assert len(first.archives[0].raw_ends) == 1
    assert tree_state(bench.restore(first)) == tree_state(bench.scratch)
