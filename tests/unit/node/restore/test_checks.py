"""A restore onto directories that are closed to the user: it names them, and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from scratchflow.disk.trees import remove_tree
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.restore import NotSaved, OtherKindInTheWay, RestoreNotPermitted
from tests.unit.conftest import Desk, make_desk

pytestmark = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
DIRECTORIES = ["work", "work/d", "env", "above", "above/sub"]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk with two directories beside the workspace, one of them nested."""
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env", "above/sub"]\n')
    for path in ("work/top", "work/d/x", "env/e", "above/sub/s"):
        desk.write(path, "first")
    yield desk
    open_all(tmp_path)


def open_all(top: Path) -> None:
    for directory, names, _ in os.walk(top):
        for name in names:
            os.chmod(os.path.join(directory, name), 0o700)


def closed(desk: Desk, directory: str, mode: int) -> str:
    """A snapshot, then another content, then a directory that is closed; the snapshot's id."""
    snapshot = str(desk.backup().snapshot)
    for path in ("work/top", "work/d/x", "env/e", "above/sub/s"):
        desk.write(path, "second")
    (desk.scratch / directory).chmod(mode)
    return snapshot


def contents(desk: Desk) -> set[bytes]:
    open_all(desk.scratch)
    found = desk.content(desk.scratch)
    return {one for path, one in found.items() if not path.startswith(".scratchflow")}


@pytest.mark.slow
@pytest.mark.parametrize("directory", DIRECTORIES)
@pytest.mark.parametrize("form", ["whole", "path"])
def test_a_directory_that_may_not_be_read_is_named_and_nothing_changes(
    desk: Desk, directory: str, form: str
) -> None:
    snapshot = closed(desk, directory, 0)
    with pytest.raises(NotSaved) as caught:
        desk.restore(snapshot, paths=(directory,) if form == "path" else ())
    assert caught.value.fields["path"].startswith(str(desk.scratch / directory))
    assert contents(desk) == {b"second"}
    desk.backup()
    if directory != "work/d":  # of a part that cannot be read, the rest is worth a safety snapshot
        assert len(desk.ids) == 2


@pytest.mark.parametrize("directory", ["work", "work/d", "env", "above/sub"])
def test_a_part_is_not_written_half_into_a_directory_that_is_read_only(
    desk: Desk, directory: str
) -> None:
    snapshot = closed(desk, directory, 0o555)
    with pytest.raises(RestoreNotPermitted, match="belongs to you") as caught:
        desk.restore(snapshot, paths=(directory,))
    assert caught.value.fields["path"] == str(desk.scratch / directory)
    assert contents(desk) == {b"second"}


def test_a_part_is_written_into_a_directory_whose_parent_is_read_only(desk: Desk) -> None:
    snapshot = closed(desk, "work", 0o555)
    desk.restore(snapshot, paths=("work/d",))
    assert (desk.work / "d/x").read_text() == "first"


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o000, 0o555])
def test_no_root_is_swapped_in_when_another_one_cannot_be(
    desk: Desk, tmp_path: Path, mode: int
) -> None:
    """On a machine that has other files there, with `--replace`."""
    snapshot = str(desk.backup().snapshot)
    (tmp_path / "other").mkdir()
    other = make_desk(tmp_path / "other", '[profiles.test.backup]\nalso = ["env", "above/sub"]\n')
    for path in ("work/mine", "work/d/mine", "env/mine", "above/sub/mine"):
        other.write(path, "mine")
    there = Desk(msgspec.structs.replace(other.context, store=desk.context.store))
    (there.scratch / "above").chmod(mode)
    with pytest.raises(ScratchflowError) as caught:
        there.restore(snapshot, replace=True)
    assert caught.value.exit_code == 35
    assert contents(there) == {b"mine"}
    (there.scratch / "env").chmod(0)
    restored = there.restore(snapshot, replace=True)
    assert len(restored.moved_aside) == 3
    assert contents(there) == {b"mine", b"first"}


@pytest.mark.parametrize(
    ("path", "gone", "now", "words"),
    [
        ("t/d/x", "t/d", "file", "`{work}/t/d` is a file now, and a directory in snapshot"),
        ("t/d", "t/d", "link", "`{work}/t/d` is a link now, and a directory in snapshot"),
        ("t/d/x", "t", "file", "`{work}/t` is a file now, and a directory in snapshot"),
        ("t/f", "t/f", "directory", "`{work}/t/f` is a directory now, and none in snapshot"),
        ("t/f", "t/f", "empty", "`{work}/t/f` is a directory now, and none in snapshot"),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_is_of_another_kind_now_is_named_and_nothing_is_saved_or_changed(
    tmp_path: Path, path: str, gone: str, now: str, words: str, *, dry_run: bool
) -> None:
    (tmp_path / "other").mkdir()
    desk = make_desk(tmp_path / "other")
    desk.write("work/t/d/x", "1")
    desk.write("work/t/f", "2")
    desk.backup()
    (desk.work / gone).rename(tmp_path / "away")
    if now == "file":
        desk.write(f"work/{gone}", "3")
    elif now == "link":
        (desk.work / gone).symlink_to(tmp_path / "away")
    else:
        (desk.work / gone).mkdir()
    if now == "directory":
        desk.write(f"work/{gone}/y", "3")
    before, ids = desk.content(tmp_path), desk.ids
    with pytest.raises(OtherKindInTheWay) as caught:
        desk.restore(paths=(path,), dry_run=dry_run)
    assert words.format(work=desk.work) in str(caught.value)
    assert (desk.content(tmp_path), desk.ids) == (before, ids)


def test_a_part_with_more_directories_than_stay_open_comes_back(desk: Desk) -> None:
    for number in range(150):
        desk.write(f"work/wide/{number}/file", f"{number}")
    snapshot = desk.backup().snapshot or ""
    before = desk.content()
    for number in range(150):
        desk.write(f"work/wide/{number}/file", "other")
    desk.backup()
    desk.restore(snapshot, paths=("wide",))
    assert desk.content() == before


def test_a_part_that_lies_thousands_of_directories_deep_comes_back(desk: Desk) -> None:
    at = os.open(desk.work, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("n", dir_fd=at)
        inside = os.open("n", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inside
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    snapshot = desk.backup().snapshot or ""
    os.unlink("file", dir_fd=at)
    desk.backup()
    desk.restore(snapshot, paths=("n",))
    assert os.listdir(at) == ["file"]
    os.close(at)
    remove_tree(desk.work / "n")  # pytest's own way of removing it is recursive
