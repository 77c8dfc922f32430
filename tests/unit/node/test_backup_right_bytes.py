"""A snapshot holds the bytes that were in the file, whatever its metadata looked like."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from scratchflow.node.restore import in_place
from scratchflow.workspace.notes import cache_path
from scratchflow.workspace.staging import swap_in
from tests.unit.conftest import Desk, make_desk

_MTIME_S = 1_600_000_000


def tarball(path: Path, prefix: str, count: int) -> Path:
    """Files of one size and one mtime, as `git archive` and reproducible builds make them."""
    with tarfile.open(path, "w") as archive:
        for number in range(count):
            content = f"{prefix} {number:08d}".encode().ljust(64, b".")
            member = tarfile.TarInfo(f"{prefix}-{number}")
            member.size, member.mtime = len(content), _MTIME_S
            archive.addfile(member, BytesIO(content))
    return path


def unpack(archive: Path, target: Path) -> None:
    subprocess.run(["tar", "-xf", str(archive), "-C", str(target)], check=True)


def age(top: Path) -> None:
    """Waits until nothing here is so new that a backup would read it again anyway."""
    newest_ns = max(path.lstat().st_ctime_ns for path in (top, *top.rglob("*")))
    probe = top.parent / "probe"
    probe.touch()
    while probe.stat().st_ctime_ns < newest_ns + 200_000_000:
        probe.touch()
    probe.unlink()


def restored(desk: Desk, target: Path) -> dict[str, bytes]:
    desk.restore(to=target)
    return desk.content(target / "work")


@pytest.fixture
def empty_desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def test_files_with_the_inodes_and_mtimes_of_deleted_ones_keep_their_own_content(
    empty_desk: Desk, tmp_path: Path
) -> None:
    desk = empty_desk
    unpack(tarball(tmp_path / "old.tar", "old", 40), desk.work)
    age(desk.work)
    desk.backup()
    desk.backup()
    for path in desk.work.iterdir():
        path.unlink()
    unpack(tarball(tmp_path / "new.tar", "new", 40), desk.work)
    taken = desk.backup(allow_shrink=True)
    assert taken.changed_files == 40
    assert restored(desk, tmp_path / "x") == desk.content()


def rewritten(path: Path, content: bytes) -> None:
    """Other content of the same size, and the mtime put back: only the change time tells."""
    stats = path.stat()
    path.write_bytes(content[: stats.st_size].ljust(stats.st_size, b"."))
    os.utime(path, ns=(stats.st_atime_ns, stats.st_mtime_ns))


def test_without_a_scan_cache_every_file_is_read(desk: Desk, tmp_path: Path) -> None:
    age(desk.work)
    desk.backup()
    desk.backup()
    rewritten(desk.work / "README", b"HELLO")
    cache_path(desk.context.workspace).unlink()
    assert desk.backup().changed_files == 1
    assert restored(desk, tmp_path / "x") == desk.content()


def test_without_a_scan_cache_an_unchanged_workspace_is_found_unchanged(desk: Desk) -> None:
    taken = desk.backup()
    cache_path(desk.context.workspace).unlink()
    again = desk.backup()
    assert (again.kind, again.snapshot) == ("unchanged", taken.snapshot)
    assert cache_path(desk.context.workspace).exists()


@pytest.fixture
def edit_after_placing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Somebody rewrites a file as soon as a full restore has put the workspace in place."""

    def with_company(*arguments: object) -> list[str]:
        moved = swap_in(*arguments)  # type: ignore[arg-type]  # passed on
        rewritten(desk.work / "README", b"HELLO")
        age(desk.work)
        return moved

    monkeypatch.setattr(in_place, "swap_in", with_company)
    yield
    monkeypatch.undo()


@pytest.mark.usefixtures("edit_after_placing")
def test_a_file_rewritten_right_after_a_full_restore_is_read_by_the_next_backup(
    desk: Desk, tmp_path: Path
) -> None:
    desk.backup()
    desk.work.rename(desk.work.with_name("away"))
    assert desk.restore().mode == "full"
    assert (desk.work / "README").read_text() == "HELLO"
    assert desk.backup().changed_files == 1
    assert restored(desk, tmp_path / "x")["README"] == b"HELLO"


@pytest.mark.slow
def test_a_file_rewritten_right_after_a_difference_was_restored_is_read_by_the_next_backup(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scratchflow.archive.restore import apply_delta as delta

    first = str(desk.backup().snapshot)
    desk.write("work/README", "other")
    apply = delta.apply

    def with_company(*arguments: object, **more: object) -> object:
        applied = apply(*arguments, **more)  # type: ignore[arg-type]  # passed on
        rewritten(desk.work / "README", b"HELLO")
        age(desk.work)
        return applied

    monkeypatch.setattr(delta, "apply", with_company)
    assert desk.restore(first).mode == "delta"
    assert desk.backup().changed_files == 1
    assert restored(desk, tmp_path / "x")["README"] == b"HELLO"


def test_a_file_that_could_not_be_read_is_never_believed_later(desk: Desk) -> None:
    """Rewritten with size and mtime kept, then closed: each backup says that it holds it not."""
    file = desk.write("work/a/g", "old-bytes")
    os.utime(file, ns=(10**18, 10**18))
    desk.backup()
    file.write_text("NEW-BYTES")
    os.utime(file, ns=(10**18, 10**18))
    file.chmod(0)
    for _ in range(3):
        assert desk.backup().unsaved == 1
    file.chmod(0o600)
    desk.backup()
    desk.restore("latest", to=desk.scratch / "again")
    assert (desk.scratch / "again/work/a/g").read_text() == "NEW-BYTES"
