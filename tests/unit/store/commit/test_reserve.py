"""A little room that is held back while there is some, and given up when there is none."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from scratchflow.store.commit.reserve import ensure_reserve, free_reserve
from scratchflow.store.directory import RESERVE_NAME, StoreDirectory, open_place


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


def _files(place: StoreDirectory) -> list[Path]:
    return sorted((place.directory / RESERVE_NAME).iterdir())


def test_it_takes_real_room_and_is_closed_to_others(place: StoreDirectory) -> None:
    ensure_reserve(place)
    files = _files(place)
    assert sum(file.stat().st_blocks * 512 for file in files) >= 512 << 10
    assert len({file.read_bytes() for file in files}) == len(files)  # compression gains nothing
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_only_what_is_missing_or_short_is_made_anew(place: StoreDirectory) -> None:
    ensure_reserve(place)
    before = {file.name: file.stat().st_ino for file in _files(place)}
    (place.directory / RESERVE_NAME / "0").unlink()
    os.truncate(place.directory / RESERVE_NAME / "1", 10)
    ensure_reserve(place)
    files = {file.name: file for file in _files(place)}
    assert files.keys() == before.keys()
    assert {file.stat().st_size for file in files.values()} == {128 * 1024}
    assert all(files[name].stat().st_ino == before[name] for name in before if name > "1")


def test_it_is_given_up_whole_and_twice(place: StoreDirectory) -> None:
    ensure_reserve(place)
    free_reserve(place)
    free_reserve(place)
    assert not (place.directory / RESERVE_NAME).exists()


def test_what_somebody_else_put_there_stays(place: StoreDirectory) -> None:
    ensure_reserve(place)
    (place.directory / RESERVE_NAME / "mine").write_text("x")
    free_reserve(place)
    assert [file.name for file in _files(place)] == ["mine"]


def test_a_link_in_its_place_is_not_written_through(place: StoreDirectory, tmp_path: Path) -> None:
    ensure_reserve(place)
    (tmp_path / "precious").write_text("x")
    (place.directory / RESERVE_NAME / "0").unlink()
    (place.directory / RESERVE_NAME / "0").symlink_to(tmp_path / "precious")
    ensure_reserve(place)
    assert (tmp_path / "precious").read_text() == "x"


def test_a_store_without_room_for_it_is_no_error(place: StoreDirectory) -> None:
    (place.directory / RESERVE_NAME).write_text("in the way")
    ensure_reserve(place)
    free_reserve(place)
    assert (place.directory / RESERVE_NAME).read_text() == "in the way"
