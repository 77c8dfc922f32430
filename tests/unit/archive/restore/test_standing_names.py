"""A part that is restored keeps its hard links to names outside of it, where these are as the snapshot has them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.conftest import Desk


@pytest.fixture
def linked(desk: Desk) -> Desk:
    """Four names of one file, two of them in the directory that is restored; all saved."""
    first = desk.write("work/hl/a", "content")
    for name in ("hl/z", "outside", "src/c"):
        os.link(first, desk.work / name)
    desk.backup()
    return desk


def inodes(desk: Desk, *names: str) -> list[int]:
    return [os.lstat(desk.work / name).st_ino for name in names]


NAMES = ("hl/a", "hl/z", "outside", "src/c")


@pytest.mark.parametrize("removed", [[], ["hl/a"], ["hl/z"], ["hl/a", "hl/z"]])
def test_a_name_that_is_missing_is_linked_again_and_one_that_is_there_is_left_alone(
    linked: Desk, removed: list[str]
) -> None:
    before = inodes(linked, "outside")[0]
    for name in removed:
        (linked.work / name).unlink()
    done = linked.restore(paths=("hl",))
    assert inodes(linked, *NAMES) == [before] * 4
    assert (done.written_files, done.written_bytes, linked.warnings) == (len(removed), 0, [])


def test_a_directory_that_is_gone_is_linked_again_and_so_is_a_name_with_a_file_of_its_own(
    linked: Desk,
) -> None:
    shutil.rmtree(linked.work / "hl")
    linked.write("work/hl/z", "other content")
    linked.restore(paths=("hl",))
    assert len(set(inodes(linked, *NAMES))) == 1
    assert (linked.work / "hl/z").read_text() == "content"


def _rewrite(path: Path) -> None:
    """The same size and time, another content."""
    found = path.stat()
    path.write_text("CONTENT")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        _rewrite,
        lambda path: path.chmod(0o600),
        lambda path: os.utime(path, ns=(0, 0)),
        lambda path: path.write_text("longer than before"),
    ],
)
def test_nothing_is_linked_to_a_name_that_is_not_as_it_was(
    linked: Desk, change: Callable[[Path], object]
) -> None:
    mode = os.lstat(linked.work / "outside").st_mode
    change(linked.work / "outside")
    now = (linked.work / "outside").read_bytes()
    linked.restore(paths=("hl",))
    ours, second, theirs, last = inodes(linked, *NAMES)
    assert (ours == second, theirs == last, ours != theirs) == (True, True, True)
    assert (linked.work / "hl/a").read_text() == "content"
    assert os.lstat(linked.work / "hl/a").st_mode == mode
    assert (linked.work / "outside").read_bytes() == now


def test_another_name_that_is_as_it_was_serves_when_the_first_is_not(linked: Desk) -> None:
    (linked.work / "outside").unlink()
    (linked.work / "outside").symlink_to("src/c")
    (linked.work / "hl/a").unlink()
    linked.restore(paths=("hl",))
    assert len(set(inodes(linked, "hl/a", "hl/z", "src/c"))) == 1
    assert (linked.work / "outside").is_symlink()
