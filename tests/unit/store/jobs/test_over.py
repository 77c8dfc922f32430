"""Which jobs are over for good: a note that may be missing or torn, and never names anything but jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.jobs.over import note_over, read_over

ONE, OTHER = "20261115T093000Z-3f2a9c", "20261115T093001Z-000000"


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    found = open_place(tmp_path / "store", "work")
    (found.directory / "jobs").mkdir()
    return found


def test_what_was_noted_is_read(place: StoreDirectory) -> None:
    assert read_over(place) == set()
    note_over(place, [OTHER, ONE])
    assert read_over(place) == {ONE, OTHER}


def test_torn_lines_and_other_words_name_no_job(place: StoreDirectory) -> None:
    (place.directory / "jobs/over").write_text(f"{ONE}\n{OTHER[:-1]}\n../x\n")
    assert read_over(place) == {ONE}
    (place.directory / "jobs/over").write_bytes(b"\xff\n")
    assert read_over(place) == set()


def test_a_store_that_takes_nothing_costs_the_note_only(place: StoreDirectory) -> None:
    (place.directory / "jobs/over").mkdir()
    note_over(place, [ONE])
    assert read_over(place) == set()
