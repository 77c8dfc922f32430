"""A path that held a store and is empty now is a lost mount, not a new store."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.identity import ensure_store_id, read_store_id
from scratchflow.store.known import note_store, snapshots_elsewhere, store_lost, take_back_new


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_a_place_that_was_never_used_is_not_lost(home: Path, place: StoreDirectory) -> None:
    assert store_lost(home, place, "login-1") is None


def test_a_used_place_is_lost_when_it_is_empty_or_gone(home: Path, place: StoreDirectory) -> None:
    note_store(home, place, ensure_store_id(place))
    assert store_lost(home, place, "login-1") is None
    for path in place.directory.iterdir():
        path.unlink()
    assert store_lost(home, place, "login-1")
    shutil.rmtree(place.directory.parent)
    error = store_lost(home, place, "login-1")
    assert "was there before, and is not there on `login-1` now" in str(error)
    place.directory.mkdir(parents=True)
    assert "was there before, and is empty on `login-1` now" in str(
        store_lost(home, place, "login-1")
    )
    assert error
    assert (error.exit_code, error.code) == (10, "store.lost")
    assert "login-1" in str(error)


def test_a_new_store_is_taken_back_with_its_note_and_a_used_one_is_not(
    home: Path, place: StoreDirectory
) -> None:
    note_store(home, place, ensure_store_id(place))
    take_back_new(home, place)
    assert not place.directory.exists()
    assert store_lost(home, place, "login-1") is None
    place = open_place(place.directory.parent, "work")
    note_store(home, place, ensure_store_id(place))
    (place.directory / "jobs").mkdir()
    take_back_new(home, place)
    assert read_store_id(place)


def test_a_new_store_that_is_used_meanwhile_keeps_its_id(
    home: Path, place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_id = ensure_store_id(place)
    monkeypatch.setattr("os.listdir", lambda _: ["store.json"])
    (place.directory / "jobs").mkdir()
    take_back_new(home, place)
    assert read_store_id(place) == store_id


def test_the_hint_names_the_note_that_can_be_removed(home: Path, place: StoreDirectory) -> None:
    note_store(home, place, "0" * 32)
    error = store_lost(home, place, "login-1")
    assert error
    (note,) = (home / ".local/share/scratchflow/stores").iterdir()
    assert f"rm {note}" in error.shown_hint
    assert "mirror" not in error.shown_hint
    error = store_lost(home, place, "login-1", mirror="box:a")
    assert error
    assert "`scratchflow snapshots import --from-mirror --all` then brings" in error.shown_hint
    assert "from `box:a`" in error.shown_hint
    note.unlink()
    assert store_lost(home, place, "login-1") is None


def test_another_store_at_the_path_is_not_lost_and_is_noted_instead(
    home: Path, place: StoreDirectory
) -> None:
    note_store(home, place, "0" * 32)
    store_id = ensure_store_id(place)
    assert store_lost(home, place, "login-1") is None
    note_store(home, place, store_id)
    (note,) = (home / ".local/share/scratchflow/stores").iterdir()
    assert store_id in note.read_text()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_note_that_cannot_be_read_is_none(
    home: Path, place: StoreDirectory, content: bytes
) -> None:
    note_store(home, place, "0" * 32)
    (note,) = (home / ".local/share/scratchflow/stores").iterdir()
    note.write_bytes(content)
    assert store_lost(home, place, "login-1") is None


def test_a_home_that_is_no_directory_costs_only_the_note(
    tmp_path: Path, place: StoreDirectory
) -> None:
    (tmp_path / "file").write_text("")
    note_store(tmp_path / "file", place, "0" * 32)
    assert store_lost(tmp_path / "file", place, "login-1") is None


def test_snapshots_in_another_place_are_found_while_they_are_there(
    home: Path, tmp_path: Path
) -> None:
    now = open_place(tmp_path / "new", "work")
    for name, workspace in (("old", "work"), ("empty", "work"), ("third", "thesis")):
        there = open_place(tmp_path / name, workspace)
        note_store(home, there, ensure_store_id(there))
        if name != "empty":
            (there.directory / "20261115T093000Z-3f2a9c.json").write_text("{}")
    note_store(home, now, ensure_store_id(now))
    assert snapshots_elsewhere(home, now) == [str(tmp_path / "old/work")]
    shutil.rmtree(tmp_path / "old")
    assert snapshots_elsewhere(home, now) == []
    assert snapshots_elsewhere(tmp_path / "no-home", now) == []
