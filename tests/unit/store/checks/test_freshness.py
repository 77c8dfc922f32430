"""How late a host sees what another one writes: measured without a common clock, told only when it matters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.store.checks.freshness import Lateness, growing, watch
from scratchflow.store.directory import open_place


@pytest.mark.slow
def test_a_file_that_grows_before_our_eyes_is_not_late_and_goes_again(tmp_path: Path) -> None:
    place = open_place(tmp_path / "store", "work")
    with growing(place) as name:
        seen = watch(place.directory / name)
    assert seen.limits("login") == []
    assert os.listdir(place.directory) == []


def test_a_file_that_never_changes_is_told() -> None:
    clock = [0.0]
    seen = watch(
        Path("/nonexistent"),
        monotonic=lambda: clock[0],
        sleep=lambda seconds: clock.append(clock.pop() + seconds),
    )
    (words,) = seen.limits("login")
    assert "`login` writes shows here more than 10 s late" in words


def test_five_seconds_are_told_and_one_is_not() -> None:
    assert "5 s late" in Lateness(5.0).limits("login")[0]
    assert Lateness(1.0).limits("login") == []


def test_where_nothing_can_be_written_nothing_grows(tmp_path: Path) -> None:
    place = open_place(tmp_path / "store", "work")
    place.directory.rmdir()
    with growing(place) as name:
        assert name == ""
