"""A dry run names as many files, bytes and paths as the restore after it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.results.restore import Restored
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
    assert _counts(desk.restore(first, dry_run=True)) == _counts(desk.restore(first))


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_sparse_file_is_foretold_as_it_is_counted(desk: Desk, is_gone: bool) -> None:
    desk.write("work/holes", os.urandom(9_000_000))
    os.truncate(desk.work / "holes", 15_000_000)
    first = str(desk.backup().snapshot)
    if is_gone:
        shutil.rmtree(desk.work)
    else:
        (desk.work / "holes").unlink()
    foretold, done = desk.restore(first, dry_run=True), desk.restore(first)
    assert _counts(foretold) == _counts(done)
    assert done.written_bytes >= 15_000_000


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("paths", [("notes",), ("again",), ("notes", "again"), ("source",), ()])
def test_a_part_is_foretold_as_it_is_counted(
    desk: Desk, tmp_path: Path, paths: tuple[str, ...], elsewhere: bool
) -> None:
    desk.write("work/notes", "first")
    desk.write("work/source/main", "main")
    os.link(desk.work / "source/main", desk.work / "again")
    first = str(desk.backup().snapshot)
    (desk.work / "notes").unlink()
    (desk.work / "again").unlink()
    to = tmp_path / "there" if elsewhere else None
    foretold = desk.restore(first, paths=paths, to=to, dry_run=True)
    done = desk.restore(first, paths=paths, to=to)
    assert _counts(foretold) == _counts(done)
    assert (foretold.target, foretold.place) == (done.target, done.place)


@pytest.mark.parametrize("how", ["difference", "part", "older"])
def test_a_store_that_cannot_be_locked_is_refused_before_anything_is_foretold(
    desk: Desk, how: str
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    if how == "older":
        desk.backup()
        shutil.rmtree(desk.work)
    paths = ("work/README",) if how == "part" else ()
    before = sorted(desk.context.store.rglob("*"))
    desk.place.directory.chmod(0o500)
    try:
        with pytest.raises(StoreUnusable) as foretold:
            desk.restore(first, paths=paths, dry_run=True)
        assert sorted(desk.context.store.rglob("*")) == before
        with pytest.raises(StoreUnusable) as done:
            desk.restore(first, paths=paths)
    finally:
        desk.place.directory.chmod(0o700)
    assert str(foretold.value) == str(done.value)


def test_what_needs_no_lock_is_foretold_from_a_store_that_cannot_be_written_to(
    desk: Desk, tmp_path: Path
) -> None:
    desk.backup()
    shutil.rmtree(desk.work)
    desk.place.directory.chmod(0o500)
    try:
        for to in (None, tmp_path / "there"):
            assert _counts(desk.restore(to=to, dry_run=True)) == _counts(desk.restore(to=to))
    finally:
        desk.place.directory.chmod(0o700)


def test_known_damage_is_a_warning_of_the_dry_run(desk: Desk) -> None:
    first = str(desk.backup().snapshot)
    archive = desk.place.archive(first)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 4
    archive.write_bytes(content)
    shutil.rmtree(desk.work)
    desk.restore(dry_run=True)
    assert "snapshots.damaged" not in desk.warnings
    with pytest.raises(SnapshotDamaged):
        desk.restore()
    desk.events.clear()
    assert desk.restore(dry_run=True).written_files == 3
    assert desk.warnings == ["snapshots.damaged"]


def _counts(restored: Restored) -> tuple[str, int, int, int]:
    return restored.mode, restored.written_files, restored.written_bytes, restored.removed
