"""What `/proc` and the file system tell of the whole machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from scratchflow.node.usage.machine import busy, disk, memory, percent


def proc(root: Path, stat: str = "", meminfo: str = "") -> Path:
    (root / "proc").mkdir()
    (root / "proc/stat").write_text(stat)
    (root / "proc/meminfo").write_text(meminfo)
    return root


def test_waiting_for_the_disk_is_no_work_and_a_guest_counts_once(tmp_path: Path) -> None:
    stat = "cpu  100 10 40 700 150 0 0 0 90 9\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 5\n"
    seen = busy(proc(tmp_path, stat))
    assert seen is not None
    assert (seen.working, seen.passed, seen.cores) == (150, 1000, 2)


def test_memory_that_can_be_had_at_once_is_not_in_use(tmp_path: Path) -> None:
    text = (
        "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    600 kB\nHugePages_Total:  0\n"
    )
    assert memory(proc(tmp_path, meminfo=text)) == (400 * 1024, 1000 * 1024)


def test_without_proc_nothing_is_known(tmp_path: Path) -> None:
    assert busy(tmp_path) is None
    assert memory(tmp_path) is None


def test_a_directory_that_is_not_there_yet_has_the_room_of_the_one_above(tmp_path: Path) -> None:
    seen = disk(tmp_path / "scratch" / "me")
    assert seen is not None
    assert seen.path == str(tmp_path / "scratch" / "me")
    assert (
        seen.total_bytes == seen.used_bytes + seen.free_bytes <= shutil.disk_usage(tmp_path).total
    )
    assert 0 <= seen.percent <= 100


def test_a_disk_that_does_not_answer_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> os.statvfs_result:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "statvfs", fail)
    assert disk(tmp_path) is None


@pytest.mark.parametrize(
    ("part", "whole", "shown"), [(0, 10, 0), (1, 1000, 1), (999, 1000, 100), (5, 10, 50), (1, 0, 0)]
)
def test_percent_is_rounded_up_as_df_does(part: int, whole: int, shown: int) -> None:
    assert percent(part, whole) == shown
