"""One file of a snapshot, without a node."""

from __future__ import annotations

import pytest

from scratchflow.login.jobs.snapshot_file import read_in_snapshot
from scratchflow.model.errors import PathMissing
from scratchflow.store.catalogue import read_catalogue
from tests.unit.conftest import Desk


def test_it_is_read_as_it_was_saved_also_from_an_incremental_one(desk: Desk) -> None:
    desk.backup()
    desk.write("work/more")
    desk.backup()
    newest = read_catalogue(desk.place).snapshots[-1]
    assert read_in_snapshot(desk.place, newest, "src/main.py") == b"print()"


@pytest.mark.parametrize("path", ["missing", "src", "link"])
def test_what_is_no_regular_file_is_missing(desk: Desk, path: str) -> None:
    (desk.work / "link").symlink_to("/etc/passwd")
    desk.backup()
    newest = read_catalogue(desk.place).snapshots[-1]
    with pytest.raises(PathMissing):
        read_in_snapshot(desk.place, newest, path)
