"""Marks that keep a snapshot from retention."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.retention.marks import Mark, keep, read_marks, unkeep
from scratchflow.testing.store import make_id


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


def _mark(why: str = "asked") -> Mark:
    return Mark(snapshot=make_id(), why=why, time="2026-11-15T09:30:00Z")  # type: ignore[arg-type]  # a word of the two


def test_a_mark_stays_until_it_is_taken_away(place: StoreDirectory) -> None:
    assert read_marks(place) == {}
    keep(place, _mark())
    assert read_marks(place) == {make_id(): _mark()}
    assert unkeep(place, make_id())
    assert read_marks(place) == {}
    assert not unkeep(place, make_id())


def test_a_shrink_never_replaces_what_a_person_asked_for(place: StoreDirectory) -> None:
    keep(place, _mark())
    keep(place, _mark("shrink"))
    assert read_marks(place)[make_id()].why == "asked"


def test_a_person_may_keep_what_a_shrink_kept_already(place: StoreDirectory) -> None:
    keep(place, _mark("shrink"))
    keep(place, _mark())
    assert read_marks(place)[make_id()].why == "asked"


def test_a_damaged_mark_still_keeps(place: StoreDirectory) -> None:
    keep(place, _mark("shrink"))
    (place.directory / "kept" / f"{make_id()}.json").write_bytes(b"{")
    assert read_marks(place)[make_id()].why == "asked"


def test_junk_beside_the_marks_is_passed_over(place: StoreDirectory) -> None:
    keep(place, _mark())
    (place.directory / "kept" / "notes.txt").write_text("hello")
    (place.directory / "kept" / "..json").write_text("{}")
    assert list(read_marks(place)) == [make_id()]
