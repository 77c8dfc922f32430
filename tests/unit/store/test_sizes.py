"""How much room the snapshots take: their archives and manifests, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from scratchflow.store.directory import StoreDirectory
from scratchflow.store.sizes import bytes_of_snapshots

ID = "20261115T195140Z-570643"


def test_archives_and_manifests_count_and_nothing_else(tmp_path: Path) -> None:
    place = StoreDirectory(tmp_path)
    place.archive(ID).write_bytes(bytes(1000))
    place.manifest(ID).write_bytes(bytes(20))
    (tmp_path / "HOW-TO-RESTORE.txt").write_bytes(bytes(7000))
    (tmp_path / "lineage.json").write_bytes(bytes(7000))
    place.temp_archive(ID).write_bytes(bytes(7000))
    (tmp_path / ID).write_bytes(bytes(7000))
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "big.tar.lz4").write_bytes(bytes(7000))
    assert bytes_of_snapshots(place) == 1020


def test_what_is_no_file_takes_no_room(tmp_path: Path) -> None:
    place = StoreDirectory(tmp_path)
    os.mkfifo(place.archive(ID))
    place.manifest(ID).symlink_to("/etc/passwd")
    assert bytes_of_snapshots(place) == 0


def test_a_store_that_is_not_there_yet_has_none(tmp_path: Path) -> None:
    assert bytes_of_snapshots(StoreDirectory(tmp_path / "none")) == 0
