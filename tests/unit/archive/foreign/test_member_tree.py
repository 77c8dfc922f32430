"""Members in any order become an index: nothing leads out, what comes later wins, links keep their bytes."""

from __future__ import annotations

import pytest

from scratchflow.archive.foreign.member_tree import MemberTree, Stored, UnsafePath, safe_path
from scratchflow.archive.tree.index import DIGEST_BYTES, Index
from scratchflow.archive.tree.tree import DIRECTORY, REGULAR, SYMLINK


def _file(mark: bytes = b"1", position: int = 512) -> Stored:
    return Stored(REGULAR | 0o644, 0, 10, position, mark * DIGEST_BYTES)


def _directory(mode: int = 0o755) -> Stored:
    return Stored(DIRECTORY | mode, 0)


def _link(target: bytes) -> Stored:
    return Stored(SYMLINK | 0o777, 0, target=target)


def _entry(index: Index, path: bytes) -> int:
    entry = index.find(path)
    assert entry is not None
    return entry


@pytest.mark.parametrize(
    ("name", "path"),
    [(b"a/b", b"a/b"), (b"./a//b/.", b"a/b"), (b".", b""), (b"..a/b..", b"..a/b.."), (b"a/", b"a")],
)
def test_harmless_names_are_made_plain(name: bytes, path: bytes) -> None:
    assert safe_path(name) == path


@pytest.mark.parametrize(
    "name", [b"/a", b"..", b"a/../b", b"a/..", b"a\0b", b"n" * 256, b"d/" * 40_000]
)
def test_names_that_lead_anywhere_else_are_refused(name: bytes) -> None:
    with pytest.raises(UnsafePath):
        safe_path(name)


def test_members_in_any_order_are_found_and_directories_above_are_implied() -> None:
    tree = MemberTree()
    for path in (b"z/deep/file", b"a", b"z/b"):
        tree.add(path, _file())
    tree.add(b"z", _directory(0o700))  # its own member may come last
    index = tree.to_index("A")
    assert sorted(index.path(entry) for entry in range(len(index))) == [
        b"a", b"z", b"z/b", b"z/deep", b"z/deep/file",
    ]  # fmt: skip
    assert index.mode[_entry(index, b"z")] == DIRECTORY | 0o700
    assert index.mode[_entry(index, b"z/deep")] == DIRECTORY | 0o755


def test_what_comes_later_wins() -> None:
    tree = MemberTree()
    tree.add(b"a", _file(b"1"))
    tree.add(b"a", _link(b"elsewhere"))
    tree.add(b"b", _link(b"elsewhere"))
    tree.add(b"b", _file(b"2"))
    index = tree.to_index("A")
    assert index.target(_entry(index, b"a")) == b"elsewhere"
    assert index.digest_of(_entry(index, b"b")) == b"2" * DIGEST_BYTES


@pytest.mark.parametrize("first", ["file", "directory", "link"])
def test_nothing_is_a_directory_and_something_else(first: str) -> None:
    tree = MemberTree()
    tree.add(b"a", {"file": _file(), "directory": _directory(), "link": _link(b"x")}[first])
    other = _file() if first == "directory" else _directory()
    with pytest.raises(UnsafePath, match="two different things"):
        tree.add(b"a", other)
    if first != "directory":
        with pytest.raises(UnsafePath, match="no directory"):
            tree.add(b"a/beneath", _file())


def test_another_name_may_sort_before_the_file_and_lead_over_a_third() -> None:
    tree = MemberTree()
    tree.add(b"z", _file())
    tree.add_link(b"m", b"z")
    tree.add_link(b"a", b"m")
    tree.add_link(b"z", b"a")  # the file itself
    index = tree.to_index("A")
    first = _entry(index, b"z")
    assert index.hardlinks == {_entry(index, b"a"): first, _entry(index, b"m"): first}
    assert index.position[_entry(index, b"a")] == 512
    assert index.digest_of(_entry(index, b"a")) == b"1" * DIGEST_BYTES


def test_another_name_keeps_the_bytes_of_a_file_that_was_replaced_later() -> None:
    tree = MemberTree()
    tree.add(b"a", _file(b"1", 512))
    tree.add_link(b"b", b"a")
    tree.add(b"a", _file(b"2", 4096))
    index = tree.to_index("A")
    assert index.hardlinks == {}
    assert (index.position[_entry(index, b"a")], index.position[_entry(index, b"b")]) == (4096, 512)
    assert index.digest_of(_entry(index, b"b")) == b"1" * DIGEST_BYTES


@pytest.mark.parametrize("target", [b"missing", b"directory", b"link"])
def test_another_name_for_what_is_no_file_is_refused(target: bytes) -> None:
    tree = MemberTree()
    tree.add(b"directory", _directory())
    tree.add(b"link", _link(b"x"))
    with pytest.raises(UnsafePath, match="no file of this archive"):
        tree.add_link(b"name", target)
