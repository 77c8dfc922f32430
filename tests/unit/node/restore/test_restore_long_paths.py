"""Paths longer than the system takes at once (4,096 bytes) are restored in place like any other."""

from __future__ import annotations

import os
import shutil

import pytest

from scratchflow.model.errors.restore import NotSaved
from tests.unit.archive.conftest import tree_state
from tests.unit.conftest import Desk

NAME = "d" * 250
LEVELS = 20


def write_deep(desk: Desk, content: str, name: str = "file") -> None:
    """A file in each of many directories inside each other."""
    directory = os.open(desk.work, os.O_RDONLY)
    for _ in range(LEVELS):
        if NAME not in os.listdir(directory):
            os.mkdir(NAME, dir_fd=directory)
        inside = os.open(NAME, os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = inside
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        file = os.open(name, flags, 0o600, dir_fd=directory)
        os.write(file, content.encode())
        os.close(file)
    os.close(directory)


@pytest.mark.slow
def test_they_come_back_after_they_were_removed_or_changed(desk: Desk) -> None:
    write_deep(desk, "first")
    first = str(desk.backup().snapshot)
    wanted = tree_state(desk.scratch / "work")
    shutil.rmtree(desk.work / NAME)
    desk.backup(allow_shrink=True)
    desk.restore(first)
    assert tree_state(desk.work) == wanted
    write_deep(desk, "second")
    write_deep(desk, "more", "other")
    desk.restore(first)
    assert tree_state(desk.work) == wanted
    assert desk.warnings == []


def test_a_file_in_the_way_that_no_snapshot_holds_is_found_there_too(desk: Desk) -> None:
    write_deep(desk, "first")
    first = str(desk.backup().snapshot)
    desk.write("work/.scratchignore", "file\n")
    desk.backup(allow_shrink=True)
    write_deep(desk, "precious")
    before = tree_state(desk.work)
    with pytest.raises(NotSaved, match="excluded from snapshots"):
        desk.restore(first)
    assert tree_state(desk.work) == before
