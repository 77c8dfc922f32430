"""The store's makers make what the store itself takes for real, and find damage in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.testing.store import FakeClock, commit_bytes, make_id, make_lock, verify_archive


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


def test_ids_are_ids_and_sort_by_their_minutes() -> None:
    ids = [make_id(minutes) for minutes in (-5, 0, 0.5, 60)]
    assert ids == sorted(ids)
    assert all(map(is_snapshot_id, ids))


@pytest.mark.parametrize("content", [b"x", b"0123456789" * 1000])
def test_committed_bytes_are_a_snapshot_of_the_store(place: StoreDirectory, content: bytes) -> None:
    with make_lock(place).acquired() as lock:
        manifest = commit_bytes(lock, make_id(), content)
    assert [one.id for one in read_catalogue(place).snapshots] == [make_id()]
    verify_archive(place, manifest)
    assert manifest.archive_bytes == len(content)


@pytest.mark.parametrize("damage", [b"", b"01234567", b"012345678X", b"0123456789+"])
def test_damage_of_any_kind_is_found(place: StoreDirectory, damage: bytes) -> None:
    with make_lock(place).acquired() as lock:
        manifest = commit_bytes(lock, make_id(), b"0123456789")
    archive = place.archive(manifest.id)
    archive.chmod(0o600)
    archive.write_bytes(damage)
    with pytest.raises(SnapshotDamaged):
        verify_archive(place, manifest)


def test_a_clock_that_is_set_makes_no_time_pass(tmp_path: Path) -> None:
    fake = FakeClock(1000.0)
    clock = fake.clock
    fake.step_wall_clock(-500)
    assert (clock.now(), clock.monotonic()) == (500.0, 0.0)
    clock.sleep(3)
    fake.pass_by(2)
    assert (clock.now(), clock.monotonic()) == (505.0, 5.0)
    (tmp_path / "file").touch()
    clock.touch(tmp_path / "file")
    assert (tmp_path / "file").stat().st_mtime == 505.0
