"""Files that processes of this machine have mapped to write to them, from the kernel's own tables."""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.disk.mapped import inodes_mapped_for_writing

_MAPS_AND_WAITS = """
import mmap, sys
with open(sys.argv[1], "r+b") as file, mmap.mmap(file.fileno(), 0):
    print("mapped", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "data with a name\nof two lines"
    file.write_bytes(bytes(mmap.PAGESIZE))
    return file


def test_a_file_is_told_for_as_long_as_it_is_mapped(file: Path) -> None:
    with file.open("r+b") as opened:
        assert file.stat().st_ino not in inodes_mapped_for_writing()
        with mmap.mmap(opened.fileno(), 0):
            assert file.stat().st_ino in inodes_mapped_for_writing()
        assert file.stat().st_ino not in inodes_mapped_for_writing()


def test_a_mapping_outlives_the_descriptor_and_is_seen_in_another_process(file: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _MAPS_AND_WAITS, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout
        process.stdout.readline()
        assert file.stat().st_ino in inodes_mapped_for_writing()
        process.communicate()
    assert file.stat().st_ino not in inodes_mapped_for_writing()


@pytest.mark.parametrize("access", [mmap.ACCESS_READ, mmap.ACCESS_COPY])
def test_mappings_that_change_no_file_do_not_count(file: Path, access: int) -> None:
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0, access=access):
        assert file.stat().st_ino not in inodes_mapped_for_writing()


def test_a_system_without_proc_tells_none(tmp_path: Path) -> None:
    assert inodes_mapped_for_writing(tmp_path / "proc") == set()


def test_processes_that_cannot_be_looked_at_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()  # gone between the listing and the look
    (tmp_path / "2").mkdir()
    (tmp_path / "2/maps").write_text(
        "7f00-7f01 rw-s 00000000 fe:00 41 /a\n7f01-7f02 rw-p 00000000 fe:00 42 /b\n"
    )
    (tmp_path / "self").mkdir()
    assert inodes_mapped_for_writing(tmp_path) == {41}
