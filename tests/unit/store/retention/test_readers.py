"""Who reads keeps what it reads, for as long as it lives, and not for ever."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scratchflow.model.errors.snapshots import SnapshotMissing
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.retention.readers import (
    held_archives,
    held_snapshots,
    old_readers,
    reading,
)
from scratchflow.testing.store import make_id

A, B = make_id(0), make_id(1)
ONE, TWO = "0001", "0002"
_TWO_DAYS_S = 2 * 86400
_READS_AND_WAITS = """
import sys
from pathlib import Path
from scratchflow.store.directory import open_place
from scratchflow.store.retention.readers import reading
place = open_place(Path(sys.argv[1]), "work")
with reading(place, sys.argv[2], [sys.argv[2]], token="cafe"):
    print("reading", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    place = open_place(tmp_path / "store", "work")
    place.manifest(B).write_text("{}")
    return place


def test_a_snapshot_and_all_its_archives_are_held_until_it_was_read(place: StoreDirectory) -> None:
    with reading(place, B, [B, A], token=ONE), reading(place, B, [B], token=TWO):
        assert held_snapshots(place) == {B}
        assert held_archives(place) == {A, B}
    assert held_snapshots(place) == set()
    assert os.listdir(place.directory / "readers") == []


def test_a_snapshot_that_was_pruned_first_is_told_and_not_held(place: StoreDirectory) -> None:
    with pytest.raises(SnapshotMissing, match=A), reading(place, A, [A], token=ONE):
        pass
    assert held_snapshots(place) == set()


def test_a_reader_that_was_killed_holds_nothing(place: StoreDirectory, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _READS_AND_WAITS, str(tmp_path / "store"), B],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as reader:
        assert reader.stdout
        reader.stdout.readline()
        assert held_snapshots(place) == {B}
        reader.send_signal(signal.SIGKILL)
    assert os.listdir(place.directory / "readers") == ["cafe.json"]
    assert held_snapshots(place) == set()


def test_a_file_of_two_days_holds_nothing_and_is_old(place: StoreDirectory) -> None:
    with reading(place, B, [B], token=ONE):
        now = time.time()
        for passed_s, is_held in ((_TWO_DAYS_S - 60, True), (_TWO_DAYS_S + 60, False)):
            assert bool(held_snapshots(place, now + passed_s)) == is_held
            assert bool(old_readers(place, now + passed_s)) != is_held


def test_rubbish_holds_nothing_and_does_not_hang(place: StoreDirectory) -> None:
    directory = place.directory / "readers"
    directory.mkdir()
    os.mkfifo(directory / "fifo.json")
    (directory / "half.json").write_text("{")
    (directory / "link.json").symlink_to("half.json")
    (directory / "notes").write_text("mine")
    assert held_archives(place) == set()


def test_a_store_that_cannot_be_written_is_read_all_the_same(place: StoreDirectory) -> None:
    shutil.rmtree(place.directory / "readers", ignore_errors=True)
    (place.directory / "readers").write_text("in the way")
    with reading(place, B, [B], token=ONE):
        pass
    assert (place.directory / "readers").read_text() == "in the way"
