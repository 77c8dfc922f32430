"""The sweep: leftovers of killed runs go, anything that may belong to somebody stays."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.lock.owner import this_process
from scratchflow.store.retention.sweep import sweep
from scratchflow.testing.store import commit_bytes, make_id, make_lock


def soon() -> float:
    """Before anything that is made now is old enough to be swept."""
    return time.time() + 200


def later() -> float:
    """When everything that is there now is old enough."""
    return time.time() + 400


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


@pytest.fixture
def lock(place: StoreDirectory) -> StoreLock:
    return make_lock(place).acquired()


def litter(place: StoreDirectory) -> set[str]:
    """What runs leave that were killed at various lines."""
    released = place.directory / f".tmp-lock-{'0' * 32}"
    released.mkdir()
    (released / "owner.json").touch()
    place.nodes.mkdir()
    files = [
        place.temp_archive(make_id(1)),
        place.temp_manifest(make_id(1)),
        place.archive(make_id(2)),
        place.nodes / ".tmp-0123-n1.json",
    ]
    for path in files:
        path.write_bytes(b"litter")
    return {path.name for path in [released, *files]}


def test_old_leftovers_go_and_snapshots_stay(place: StoreDirectory, lock: StoreLock) -> None:
    commit_bytes(lock, make_id(), b"kept")
    expected = litter(place)
    swept = sweep(lock, later())
    assert set(swept.names) == expected
    assert swept.freed_bytes >= 4 * len(b"litter")
    assert set(os.listdir(place.directory)) == {
        "lock.d", "nodes", f"{make_id()}.json", f"{make_id()}.tar.lz4",
    }  # fmt: skip
    lock.release()


def test_young_leftovers_stay(place: StoreDirectory, lock: StoreLock) -> None:
    litter(place)
    assert sweep(lock, soon()).names == ()
    lock.release()


def test_an_old_mtime_alone_does_not_make_a_file_old(
    place: StoreDirectory, lock: StoreLock
) -> None:
    """Somebody may be copying a snapshot into the store, archive first, with `cp -p`."""
    litter(place)
    for path in place.directory.rglob("*"):
        os.utime(path, (0, 0))
    assert sweep(lock, soon()).names == ()
    lock.release()


def test_temps_of_a_run_that_certainly_died_go_at_once(place: StoreDirectory) -> None:
    reused_pid = msgspec.structs.replace(this_process(), start_ticks=1)
    dead = make_lock(place, process=reused_pid).acquired()
    litter(place)
    with make_lock(place).acquired() as lock:
        swept = set(sweep(lock, time.time() + 1).names)
    assert {place.temp_archive(make_id(1)).name, place.temp_manifest(make_id(1)).name} <= swept
    assert place.archive(make_id(2)).exists()
    dead.release()


def test_foreign_names_are_never_touched(place: StoreDirectory, lock: StoreLock) -> None:
    names = {"notes.txt", "20261115T093000Z-3f2a9c.tar", "work.tar.lz4", ".nfs000000", "x.json"}
    for name in names:
        (place.directory / name).touch()
    (place.directory / ".tmp-directory").mkdir()
    (place.directory / ".tmp-lock-mine").mkdir()
    assert sweep(lock, later()).names == ()
    lock.release()


@pytest.mark.parametrize("content", [b"", b"{", b'{"schema": 99}'])
def test_while_a_manifest_cannot_be_read_no_archive_goes(
    place: StoreDirectory, lock: StoreLock, content: bytes
) -> None:
    """It may need any of them."""
    place.archive(make_id(2)).write_bytes(b"perhaps needed")
    place.manifest(make_id(3)).write_bytes(content)
    place.temp_archive(make_id(4)).write_bytes(b"a temp is nobody's all the same")
    assert sweep(lock, later()).names == (place.temp_archive(make_id(4)).name,)
    lock.release()


def test_a_needed_archive_without_a_manifest_stays(place: StoreDirectory, lock: StoreLock) -> None:
    place.archive(make_id(0)).write_bytes(b"base")
    commit_bytes(lock, make_id(30), b"delta", needs=[make_id(0)])
    assert sweep(lock, later()).names == ()
    lock.release()
