"""What is missing is moved, and what is there is never replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.disk.place_new import compare_names, place_new


def made(top: Path, **files: str) -> Path:
    top.mkdir()
    for name, text in files.items():
        (top / name).write_text(text)
    return top


def test_equal_files_are_neither_new_nor_different(tmp_path: Path) -> None:
    tree = made(tmp_path / "tree", a="1", b="2", c="3")
    target = made(tmp_path / "target", a="1", b="x")
    os.utime(target / "a", (0, 0))
    placing = compare_names(tree, ["a", "b", "c"], target)
    assert (placing.new, placing.differing) == (["c"], ["b"])


def test_a_link_and_a_file_with_the_same_content_differ(tmp_path: Path) -> None:
    tree = made(tmp_path / "tree", a="1")
    target = made(tmp_path / "target", other="1")
    (target / "a").symlink_to("other")
    assert compare_names(tree, ["a"], target).differing == ["a"]


@pytest.mark.parametrize("kind", ["link", "file"])
def test_nothing_is_written_through_what_is_no_directory(tmp_path: Path, kind: str) -> None:
    tree = made(tmp_path / "tree")
    (tree / "d").mkdir()
    (tree / "d" / "a").write_text("1")
    target, elsewhere = made(tmp_path / "target"), made(tmp_path / "elsewhere")
    if kind == "link":
        (target / "d").symlink_to(elsewhere)
    else:
        (target / "d").write_text("mine")
    assert compare_names(tree, ["d/a"], target).differing == ["d"]


def test_what_came_meanwhile_stays(tmp_path: Path) -> None:
    tree = made(tmp_path / "tree", a="1")
    target = made(tmp_path / "target", a="theirs")
    with pytest.raises(FileExistsError):
        place_new(tree, ["a"], target)
    assert (target / "a").read_text() == "theirs"


def test_files_are_moved_with_their_directories(tmp_path: Path) -> None:
    tree, target = made(tmp_path / "tree"), tmp_path / "target"
    (tree / "d").mkdir()
    (tree / "d" / "a").write_text("1")
    place_new(tree, ["d/a"], target)
    assert (target / "d" / "a").read_text() == "1"
    assert not (tree / "d" / "a").exists()
