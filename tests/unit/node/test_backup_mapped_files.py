"""Writes through a shared mapping leave no stamp once a page is dirty: such files are read again."""

from __future__ import annotations

import mmap
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.unit.conftest import Desk, make_desk
from tests.unit.node.test_backup_right_bytes import age, restored

_MAPPER = """
import mmap, sys
with open(sys.argv[1], "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 0)
for line in sys.stdin:
    mapped[: len(line) - 1] = line[:-1].encode()
    print("written", flush=True)
"""
_NEVER_WRITES_BACK = "/dev/shm"  # a tmpfs, as some clusters have for scratch


@pytest.fixture(params=["a disk", "tmpfs"])
def desk_on(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    if request.param == "a disk":
        yield make_desk(tmp_path)
        return
    directory = Path(tempfile.mkdtemp(dir=_NEVER_WRITES_BACK))
    yield make_desk(directory)
    shutil.rmtree(directory)


@contextmanager
def mapping(path: Path) -> Iterator[Callable[[str], None]]:
    """Another process that writes to the start of a file through a mapping."""
    command = [sys.executable, "-c", _MAPPER, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as mapper:
        asked, answered = mapper.stdin, mapper.stdout
        assert asked
        assert answered

        def write(text: str) -> None:
            asked.write(text + "\n")
            asked.flush()
            assert answered.readline() == "written\n"

        yield write
        asked.close()


def test_a_second_write_to_a_dirty_mapped_page_is_saved(desk_on: Desk, tmp_path: Path) -> None:
    desk = desk_on
    path = desk.write("work/data", bytes(2 * mmap.PAGESIZE))
    desk.write("work/other", bytes(2 * mmap.PAGESIZE))
    with mapping(path) as write:
        write("first")
        age(desk.work)
        desk.backup()
        write("second")
        taken = desk.backup()
    assert taken.changed_files == 1
    assert restored(desk, tmp_path / "x") == desk.content()


def test_a_write_before_the_mapping_ends_is_saved_by_the_next_backup(
    desk_on: Desk, tmp_path: Path
) -> None:
    desk = desk_on
    path = desk.write("work/data", bytes(2 * mmap.PAGESIZE))
    with mapping(path) as write:
        write("first")
        age(desk.work)
        desk.backup()
        write("second")
    assert desk.backup().changed_files == 1
    assert restored(desk, tmp_path / "x") == desk.content()
