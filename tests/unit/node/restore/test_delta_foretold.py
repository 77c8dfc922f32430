"""A dry run names as many files, bytes and paths as the restore after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.conftest import Desk


def _same_again(desk: Desk) -> None:
    """A file that was changed and changed back, and one that came with `restore --path`."""
    desk.write("work/notes", "x").unlink()
    desk.write("work/notes", "first")
    os.utime(desk.work / "notes", ns=(1, 1))


def _file_for_directory(desk: Desk) -> None:
    _remove(desk.work / "source")
    desk.write("work/source", "in the way")


def _link_for_directory(desk: Desk) -> None:
    _remove(desk.work / "source")
    (desk.work / "source").symlink_to("elsewhere")


def _directory_for_file(desk: Desk) -> None:
    (desk.work / "notes").unlink()
    desk.write("work/notes/a/b", "x")
    desk.write("work/notes/c", "x")


def _new_directory(desk: Desk) -> None:
    desk.write("work/new/a/b", "x")
    desk.write("work/new/c", "x")


def _links_gone(desk: Desk) -> None:
    (desk.work / "again").unlink()
    (desk.work / "source" / "main").unlink()


def _touched(desk: Desk) -> None:
    os.utime(desk.work / "notes", ns=(1, 1))


def _remove(directory: Path) -> None:
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()


CHANGES: list[Callable[[Desk], None]] = [
    _same_again,
    _file_for_directory,
    _link_for_directory,
    _directory_for_file,
    _new_directory,
    _links_gone,
    _touched,
]


@pytest.mark.parametrize("is_saved", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_as_much_is_foretold_as_is_done(
    desk: Desk, change: Callable[[Desk], None], is_saved: bool
) -> None:
    desk.write("work/notes", "first")
    desk.write("work/source/main", "main")
    desk.write("work/source/other", "other")
    os.link(desk.work / "source" / "main", desk.work / "again")
    first = str(desk.backup().snapshot)
    desk.write("work/notes", "second")
    desk.write("work/more", "x")
    desk.backup()
    change(desk)
    if is_saved:
        desk.backup(allow_shrink=True)
    foretold = desk.restore(first, dry_run=True)
    done = desk.restore(first)
    counts = [
        (one.mode, one.written_files, one.written_bytes, one.removed) for one in (foretold, done)
    ]
    assert counts[0] == counts[1]
