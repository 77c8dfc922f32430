"""What `backup.also` adds is not the workspace; anything else is, and what cannot be read may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.retention.vacant import is_vacant, lacks_workspace
from tests.unit.conftest import Desk, make_desk


@pytest.fixture
def beside(tmp_path: Path) -> Desk:
    """A desk whose only file lies beside the workspace, in a directory whose name begins like its."""
    desk = make_desk(tmp_path, 'backup.also = ["work-env"]\n')
    desk.write("work-env/bin/python", "x")
    desk.work.mkdir(parents=True, exist_ok=True)
    return desk


def _lacks(desk: Desk) -> bool:
    return lacks_workspace(desk.place, read_catalogue(desk.place).snapshots[-1])


def test_what_lies_beside_it_does_not_count_and_what_lies_in_it_does(beside: Desk) -> None:
    beside.backup()
    assert _lacks(beside)
    (beside.work / "empty").mkdir()
    beside.write("work-env/bin/pip", "x")
    beside.backup()
    assert _lacks(beside)
    assert is_vacant(beside.place, read_catalogue(beside.place))
    (beside.work / "link").symlink_to("nowhere")
    beside.backup()
    assert not _lacks(beside)
    (beside.work / "link").unlink()
    beside.backup(allow_shrink=True)
    assert _lacks(beside)
    assert not is_vacant(beside.place, read_catalogue(beside.place))


def test_nobody_knows_what_a_snapshot_has_whose_index_cannot_be_read(beside: Desk) -> None:
    snapshot = str(beside.backup().snapshot)
    archive = beside.place.archive(snapshot)
    archive.write_bytes(bytes(archive.stat().st_size))
    assert not _lacks(beside)
    assert not is_vacant(beside.place, read_catalogue(beside.place))
