"""Columns over entries: what a tree answers is what is on disk, and columns that disagree are refused."""

from __future__ import annotations

import os
from array import array

import pytest

from scratchflow.archive.malformed import Malformed
from scratchflow.archive.tree.names import PackedNames
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK, Tree, is_same_mode
from tests.unit.archive.conftest import Bench, fill


def _tree(names: list[bytes], modes: list[int], children: list[int]) -> Tree:
    tree = Tree()
    tree.names = PackedNames(names)
    tree.mode = array("H", modes)
    tree.size = array("Q", [1] * len(names))
    tree.mtime_ns = array("q", [0] * len(names))
    tree.children = array("I", children)
    return tree


@pytest.mark.parametrize(
    ("modes", "children"),
    [
        ([DIRECTORY], [1]),  # the directory has no group
        ([REGULAR], [1, 0]),  # a group too many
        ([DIRECTORY], [1, 1]),  # more entries than there are
        ([DIRECTORY, REGULAR], [1, 0]),  # fewer
        ([DIRECTORY, DIRECTORY], [0, 2, 0]),  # a directory inside itself
        ([], []),
    ],
)
def test_modes_and_groups_that_disagree_are_refused(modes: list[int], children: list[int]) -> None:
    with pytest.raises(Malformed):
        _tree([b"%d" % number for number in range(len(modes))], modes, children).connect()


def test_every_entry_is_found_by_its_path_and_lies_in_its_directory(bench: Bench) -> None:
    fill(bench.work)
    for made in ("src/zz/empty", "src/a", "a", "zz"):
        (bench.work / made).mkdir(parents=True)
    tree = bench.scan()
    for entry in range(len(tree)):
        path = tree.path(entry)
        assert tree.find(path) == entry
        group = tree.group_of(entry)
        assert tree.group_path(group) == path.rpartition(b"/")[0]
        if tree.mode[entry] & KIND_MASK == DIRECTORY:
            assert tree.group_path(tree.group_at(entry)) == path
            assert tree.parent_group(tree.group_at(entry)) == group
        if tree.mode[entry] & KIND_MASK == SYMLINK:
            assert tree.target(entry) == os.readlink(os.fsencode(bench.scratch) + b"/" + path)
    for missing in (b"", b"/", b"wor", b"works", b"work/", b"work/data/x", b"work//src"):
        assert tree.find(missing) is None


def test_a_tar_lists_each_directory_right_before_what_it_holds(bench: Bench) -> None:
    fill(bench.work)
    tree = bench.scan()
    everything = bytearray(b"\1") * len(tree)
    listed = [path for _, _, path, _ in tree.in_tar_order(everything)]
    in_order = list(tree.in_tar_order(everything))
    for at, (start, *_) in enumerate(in_order):
        if tree.mode[start] & KIND_MASK != DIRECTORY:
            assert list(tree.in_tar_order(everything, start)) == in_order[at:]
    assert sorted(listed) == sorted(tree.path(entry) for entry in range(len(tree)))
    left: set[bytes] = set()
    last = b""
    for path in listed:
        above = path.rpartition(b"/")[0]
        assert above not in left
        if last and not path.startswith(last + b"/") and above != last.rpartition(b"/")[0]:
            left.add(last.rpartition(b"/")[0])
        last = path
    chosen = bytearray(len(tree))
    entry = tree.find(b"work/src/main.c")
    assert entry is not None
    chosen[entry] = 1
    assert [path for _, _, path, _ in tree.in_tar_order(chosen)] == [b"work/src/main.c"]


def test_counts_are_those_of_the_disk_and_linked_files_count_their_bytes_once(bench: Bench) -> None:
    fill(bench.work)
    tree = bench.scan()
    counts = tree.counts()
    paths = [path for path in bench.work.rglob("*") if not path.is_symlink()]
    files = [path for path in paths if path.is_file()]
    assert counts.files == len(files)
    assert counts.dirs == len(paths) - len(files) + 1
    assert counts.links == 2
    assert counts.bytes == sum({p.stat().st_ino: p.stat().st_size for p in files}.values())
    assert tree.files_among(range(len(tree))) == (counts.files, counts.bytes)
    linked = tree.find(b"work/linked.c"), tree.find(b"work/src/main.c")
    assert None not in linked
    assert tree.files_among([one for one in linked if one is not None]) == (2, 29)


def test_trees_of_one_shape_share_it(bench: Bench) -> None:
    fill(bench.work)
    one, other = bench.scan(), bench.scan()
    assert one.has_shape_of(other)
    other.take_shape_of(one)
    assert other.find(b"work/src/deeper/leaf") == one.find(b"work/src/deeper/leaf")
    (bench.work / "bin/python").unlink()
    (bench.work / "bin/python").symlink_to("/elsewhere")
    assert not one.has_shape_of(bench.scan())


def test_entries_of_a_kind_among_the_chosen_ones() -> None:
    modes = [DIRECTORY, REGULAR | 0o644, SYMLINK | 0o777, REGULAR, REGULAR]
    tree = _tree([b"a", b"b", b"c", b"d", b"e"], modes, [5, 0])
    assert list(tree.of_kind(REGULAR)) == [1, 3, 4]
    assert list(tree.of_kind(REGULAR, bytearray([1, 1, 1, 0, 1]))) == [1, 4]
    assert list(tree.of_kind(DIRECTORY, bytearray([0, 1, 1, 1, 1]))) == []
    assert list(tree.of_kind(SYMLINK, bytearray([0, 0, 1, 0, 0]))) == [2]
    assert list(_tree([], [], [0]).of_kind(REGULAR, bytearray())) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (REGULAR | 0o7755, REGULAR | 0o755, True),
        (REGULAR | 0o755, REGULAR | 0o754, False),
        (DIRECTORY | 0o4755, DIRECTORY | 0o755, True),
        (DIRECTORY | 0o2755, DIRECTORY | 0o755, False),
        (DIRECTORY | 0o1755, DIRECTORY | 0o755, False),
        (DIRECTORY | 0o755, REGULAR | 0o755, False),
    ],
)
def test_modes_differ_in_what_a_restore_gives_back(one: int, other: int, same: bool) -> None:
    assert is_same_mode(one, other) == is_same_mode(other, one) == same


def test_files_with_set_id_are_found() -> None:
    tree = Tree()
    bits = [0o4000, 0o2000, 0o6777, 0o1777, 0o777]
    tree.mode = array("H", [REGULAR | one for one in bits])
    tree.mode.extend([DIRECTORY | 0o6777, SYMLINK | 0o777])
    assert list(tree.files_with_set_id()) == [0, 1, 2]
