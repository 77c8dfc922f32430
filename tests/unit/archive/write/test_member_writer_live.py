"""A workspace that does not hold still: warnings, never an abort, and complete members."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from scratchflow.archive.read import verify
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import RECHECK, Index
from scratchflow.archive.write import writer
from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.model.errors.store import NoSpace
from tests.unit.archive.conftest import Bench, read_file, tree_state

pytestmark = pytest.mark.usefixtures("with_and_without_helpers")


def _write(bench: Bench, planned: writer.Plan, when_busy: object = None) -> Index:
    """Writes archive A; `when_busy` is called when a frame full of content has been sent off."""
    calls: list[object] = [when_busy] if when_busy else []

    def progress(_phase: str, _files: int, _of: int, bytes_done: int, _bytes: int) -> None:
        if calls and bytes_done >= FRAME_BYTES // 2:
            action = calls.pop()
            assert callable(action)
            action()

    with bench.path("A").open("wb", buffering=0) as out:
        writer.write(planned, out, archive_id="A", warn=bench.warn, progress=progress)
    assert verify.verify_archive(bench.path("A")) == []
    return open_index(bench.path("A"))


def _large(path: Path) -> None:
    """Longer than what is read ahead."""
    path.write_bytes(os.urandom(1 << 16) * (10 * FRAME_BYTES >> 16))


@pytest.mark.slow
def test_shrinking_file_is_filled_up_and_flagged(bench: Bench) -> None:
    path = bench.work / "shrinks"
    _large(path)
    content = path.read_bytes()
    index = _write(bench, bench.plan(), lambda: os.truncate(path, FRAME_BYTES))
    assert [(code, name) for code, name, _ in bench.warnings] == [
        ("files.changed", b"work/shrinks")
    ]
    entry = index.find(b"work/shrinks")
    assert entry is not None
    assert index.flags[entry] == RECHECK
    stored = b"".join(read_file(index, entry, bench.path))
    assert len(stored) == len(content)
    assert stored[:FRAME_BYTES] == content[:FRAME_BYTES]
    assert not any(stored[-FRAME_BYTES:])
    bench.cache = None
    assert bench.plan(index).changed_files == 1


@pytest.mark.slow
def test_growing_file_is_stored_as_long_as_it_was(bench: Bench) -> None:
    path = bench.work / "grows"
    _large(path)
    size = path.stat().st_size

    def grow() -> None:
        with path.open("ab") as file:
            file.write(b"more")

    index = _write(bench, bench.plan(), grow)
    entry = index.find(b"work/grows")
    assert entry is not None
    assert index.size[entry] == size
    assert bench.warnings[0][0] == "files.changed"
    assert bench.plan(index, cache=False).changed_files == 1


def test_a_linked_file_that_grows_between_scan_and_read_is_saved_under_all_names(
    bench: Bench,
) -> None:
    (bench.work / "a").write_bytes(b"one")
    os.link(bench.work / "a", bench.work / "b")
    planned = bench.plan()
    (bench.work / "a").write_bytes(b"longer than before")
    restored = bench.restore(bench.write(planned, "A")) / "work"
    assert (restored / "a").read_bytes() == (restored / "b").read_bytes() == b"longer than before"


def test_file_changed_between_scan_and_read_is_stored_as_it_is_now(bench: Bench) -> None:
    path = bench.work / "edited"
    path.write_bytes(b"old")
    planned = bench.plan()
    path.write_bytes(b"new and longer")
    index = _write(bench, planned)
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)


def test_file_turned_into_a_symlink_or_directory_is_left_out(bench: Bench) -> None:
    (bench.work / "a").write_bytes(b"a")
    (bench.work / "b").write_bytes(b"b")
    planned = bench.plan()
    (bench.work / "a").unlink()
    (bench.work / "a").symlink_to("/etc/passwd")
    (bench.work / "b").unlink()
    (bench.work / "b").mkdir()
    index = _write(bench, planned)
    assert {name for _, name, _ in bench.warnings} == {b"work/a", b"work/b"}
    assert index.find(b"work/a") is None


def test_directory_swapped_for_a_symlink_is_not_followed(bench: Bench) -> None:
    (bench.work / "d").mkdir()
    (bench.work / "d" / "f").write_bytes(b"inside")
    outside = bench.home / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"secret")
    planned = bench.plan()
    (bench.work / "d").rename(bench.work / "moved")
    (bench.work / "d").symlink_to(outside)
    _write(bench, planned)
    assert {code for code, _, _ in bench.warnings} == {"files.unreadable"}


@pytest.mark.slow
def test_busy_writer_never_ends_a_backup(bench: Bench) -> None:
    """A thread creates, shrinks, grows, renames and deletes while backups run."""
    steady = {f"steady{number}": os.urandom(20_000) for number in range(50)}
    for name, content in steady.items():
        (bench.work / name).write_bytes(content)
    stop = threading.Event()

    def churn() -> None:
        number = 0
        while not stop.is_set():
            path = bench.work / f"busy{number % 40}"
            path.write_bytes(bytes(number % 7 * 30_000))
            if number % 3 == 0:
                os.truncate(path, 10)
            if number % 5 == 0:
                path.rename(bench.work / f"moved{number % 11}")
            if number % 7 == 0:
                path.unlink(missing_ok=True)
            number += 1

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(5):
            index = _write(bench, bench.plan())
    finally:
        stop.set()
        thread.join()
    for name, content in steady.items():
        entry = index.find(b"work/" + name.encode())
        assert entry is not None
        assert b"".join(read_file(index, entry, bench.path)) == content
    known = {"files.changed", "files.vanished", "files.unreadable"}
    assert {code for code, _, _ in bench.warnings} <= known


class _FullDisk:
    name = "store/A"

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, content: bytes, /) -> int:
        if self.room <= 0:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        count = min(len(content), self.room)
        self.room -= count
        return count


@pytest.mark.parametrize("room", [0, 1000, FRAME_BYTES, 3 * FRAME_BYTES])
def test_full_disk_is_fatal_at_any_byte(bench: Bench, room: int) -> None:
    (bench.work / "noise").write_bytes(os.urandom(3 * FRAME_BYTES))
    threads = threading.active_count()
    with pytest.raises(NoSpace, match="store/A"):
        writer.write(bench.plan(), _FullDisk(room), archive_id="A", warn=bench.warn)
    assert threading.active_count() == threads
    assert bench.warnings == []
