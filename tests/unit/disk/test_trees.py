"""Whole trees: removed whatever modes they have, moved only to where nothing is lost."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from scratchflow.disk import trees
from scratchflow.disk.trees import (
    is_empty_or_missing,
    may_hold_something,
    open_tree,
    remove_tree,
    rename_new,
)


@pytest.mark.parametrize("mode", [0o000, 0o200, 0o500])
def test_closed_directories_are_removed_too(tmp_path: Path, mode: int) -> None:
    top = tmp_path / "top"
    (top / "a/b").mkdir(parents=True)
    (top / "a/b/file").write_text("x")
    for path in ("a/b", "a", "."):
        (top / path).chmod(mode)
    remove_tree(top)
    assert not os.path.lexists(top)


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "precious").write_text("x")
    home.chmod(0o500)
    top = tmp_path / "top"
    top.mkdir()
    (top / "link").symlink_to(home)
    remove_tree(top)
    assert (home / "precious").read_text() == "x"
    assert stat.S_IMODE(home.stat().st_mode) == 0o500
    home.chmod(0o700)


def test_nothing_there_is_no_error(tmp_path: Path) -> None:
    remove_tree(tmp_path / "missing")


def test_a_tree_with_a_mount_in_it_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "top/a").mkdir(parents=True)
    monkeypatch.setattr(trees, "mounts_beneath", lambda _: [bytes(tmp_path / "top/a")])
    with pytest.raises(OSError, match="something is mounted in it"):
        remove_tree(tmp_path / "top")
    assert (tmp_path / "top/a").is_dir()


def test_a_tree_moves_to_a_free_name_or_an_empty_directory(tmp_path: Path) -> None:
    for target in ("new/parent/name", "empty"):
        source = tmp_path / "source"
        source.mkdir()
        (source / "file").write_text(target)
        (tmp_path / "empty").mkdir(exist_ok=True)
        rename_new(source, tmp_path / target)
        assert (tmp_path / target / "file").read_text() == target


@pytest.mark.parametrize("what", ["full directory", "file", "link"])
def test_what_is_there_is_never_replaced(tmp_path: Path, what: str) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    if what == "full directory":
        (target / "mine").mkdir(parents=True)
    elif what == "file":
        target.write_text("mine")
    else:
        target.symlink_to(tmp_path / "nowhere")
    before = target.lstat()
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on what is there
        rename_new(source, target)
    assert target.lstat() == before
    assert source.is_dir()


def test_a_read_only_directory_moves_to_another_parent_and_keeps_its_mode(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    source.chmod(0o555)
    rename_new(source, tmp_path / "other/name")
    assert stat.S_IMODE((tmp_path / "other/name").stat().st_mode) == 0o555


def test_a_read_only_directory_that_cannot_move_keeps_its_mode(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    source.chmod(0o555)
    with pytest.raises(OSError, match=r"(?i)invalid argument"):
        rename_new(source, source / "inside")
    assert stat.S_IMODE(source.stat().st_mode) == 0o555


def test_only_an_empty_directory_counts_as_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "full/inside").mkdir(parents=True)
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    holds = [name for name in ("empty", "full", "file", "dangling", "missing")
             if not is_empty_or_missing(tmp_path / name)]  # fmt: skip
    assert holds == ["full", "file", "dangling"]


def test_what_cannot_be_looked_at_may_hold_something(tmp_path: Path) -> None:
    # A name longer than any file system takes: also root gets an error for it.
    assert may_hold_something(tmp_path / ("x" * 300))
    assert not may_hold_something(tmp_path / "missing")


def test_a_tree_is_opened_down_to_its_last_directory_and_nothing_that_a_link_leads_to(
    tmp_path: Path,
) -> None:
    away, tree = tmp_path / "away", tmp_path / "tree"
    (tree / "a/b").mkdir(parents=True)
    (tree / "a/file").write_text("x")
    away.mkdir()
    (tree / "link").symlink_to(away)
    for path in (away, tree / "a/file", tree / "a/b", tree / "a", tree):
        path.chmod(0)
    open_tree(tree)
    open_tree(tmp_path / "missing")
    modes = [path.lstat().st_mode & 0o777 for path in (tree, tree / "a", tree / "a/b")]
    assert modes == [0o700] * 3
    assert [(tree / "a/file").stat().st_mode & 0o777, away.stat().st_mode & 0o777] == [0, 0]


@pytest.mark.parametrize("levels", [19, 20, 21, 45, 3000])
def test_however_deep_a_tree_is_it_is_removed(tmp_path: Path, levels: int) -> None:
    top = tmp_path / "top"
    top.mkdir()
    at = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("inside", dir_fd=at)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
        os.symlink("..", "link", dir_fd=at)
        inside = os.open("inside", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inside
    os.fchmod(at, 0)
    os.close(at)
    remove_tree(top)
    assert not top.exists()
    assert list(tmp_path.iterdir()) == []


def test_directories_that_nobody_may_write_to_are_removed_at_any_depth(tmp_path: Path) -> None:
    directories = [tmp_path / "top"]
    for number in range(50):
        directories.append(directories[-1] / f"{number}")
    directories[-1].mkdir(parents=True)
    for directory in reversed(directories):
        (directory / "file").touch()
        directory.chmod(0o500)
    remove_tree(tmp_path / "top")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_is_named_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "top/a/b").mkdir(parents=True)
    (tmp_path / "top/a/b/file").touch()
    unlink = os.unlink

    def refused(name: str, **at: int) -> None:
        if name == "file":
            raise PermissionError(errno.EACCES, "Permission denied", name)
        unlink(name, **at)

    monkeypatch.setattr(os, "unlink", refused)
    with pytest.raises(PermissionError) as caught:
        remove_tree(tmp_path / "top")
    assert caught.value.filename == str(tmp_path / "top/a/b/file")
    assert (tmp_path / "top/a/b/file").exists()
