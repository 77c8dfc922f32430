"""A look at the store that no remembered listing can spoil, and that leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.directory import find_place, open_place


def test_the_directory_is_changed_and_nothing_stays(tmp_path: Path) -> None:
    place = open_place(tmp_path / "store", "work")
    before = os.listdir(place.directory)
    os.utime(place.directory, ns=(0, 0))
    forget_old_listing(place)
    assert place.directory.stat().st_mtime_ns > 0  # a client that remembers sees that it changed
    assert os.listdir(place.directory) == before


def test_a_place_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    forget_old_listing(find_place(tmp_path / "store", "work"))
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    place = open_place(tmp_path / "store", "work")
    place.directory.chmod(0o500)
    forget_old_listing(place)
    place.directory.chmod(0o700)
