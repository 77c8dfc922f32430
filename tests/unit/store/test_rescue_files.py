"""A store brings what restores it: put there by every backup, and kept current."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.store import rescue_files
from scratchflow.store.directory import open_place
from tests.unit.conftest import Desk


def test_a_backup_puts_the_rescue_into_the_store_and_keeps_it_current(desk: Desk) -> None:
    desk.backup()
    directory = desk.place.directory
    files = [directory / name for name in (rescue_files.RESCUE_NAME, rescue_files.GUIDE_NAME)]
    ours = [path.read_bytes() for path in files]
    assert [path.stat().st_mode & 0o777 for path in files] == [0o600, 0o600]
    before = [path.stat().st_ino for path in files]
    desk.backup()
    assert [path.stat().st_ino for path in files] == before
    files[0].write_bytes(b"# scratchflow rescue, version 0\n")
    files[1].unlink()
    desk.backup()
    assert [path.read_bytes() for path in files] == ours
    newer = b"# scratchflow rescue, version 99\n"
    files[0].write_bytes(newer)
    desk.backup()
    assert files[0].read_bytes() == newer


def test_a_backup_counts_though_the_rescue_cannot_be_written(desk: Desk) -> None:
    desk.backup()
    path = desk.place.directory / rescue_files.RESCUE_NAME
    path.unlink()
    (path / "in the way").mkdir(parents=True)
    desk.write("work/new", "new")
    assert desk.backup().kind == "incremental"
    assert desk.warnings == ["rescue.failed"]


@pytest.mark.parametrize("what", ["link", "fifo", "damaged", "half"])
def test_what_we_did_not_write_is_replaced_and_not_followed(tmp_path: Path, what: str) -> None:
    place = open_place(tmp_path / "store", "work")
    path = place.directory / rescue_files.RESCUE_NAME
    ours = rescue_files.our_files()[rescue_files.RESCUE_NAME]
    (tmp_path / "precious").write_text("x")
    if what == "link":
        path.symlink_to(tmp_path / "precious")
    elif what == "fifo":
        os.mkfifo(path)
    else:
        path.write_bytes(ours[:-1] if what == "half" else ours.replace(b"def ", b"dex ", 1))
    rescue_files.put_rescue(place)
    assert path.read_bytes() == ours
    assert not path.is_symlink()
    assert (tmp_path / "precious").read_text() == "x"
