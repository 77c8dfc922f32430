"""A directory of `backup.also` that cannot be read: it is named, everything else is saved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.model.errors.workspace import ShrinkGuard
from scratchflow.model.events import Log
from scratchflow.node.backup import foretell_backup
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.retention.marks import read_marks
from tests.unit.conftest import Desk, make_desk
from tests.unit.node.snapshot.test_shrink import with_also

pytestmark = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk whose `also` lies in a directory of its own."""
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env/sub"]\n')
    desk.write("work/a", "first")
    desk.write("env/sub/s", "beside")
    yield desk
    for path in (desk.scratch / "env", desk.scratch / "env/sub"):
        path.chmod(0o755)


def close(desk: Desk, directory: str, mode: int = 0) -> None:
    (desk.scratch / directory).chmod(mode)


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o100])
@pytest.mark.parametrize("closed", ["env", "env/sub"])
def test_the_rest_is_saved_and_the_snapshot_before_is_kept(
    desk: Desk, closed: str, mode: int
) -> None:
    before = desk.backup().snapshot
    desk.write("work/a", "second")
    close(desk, closed, mode)
    foretold = foretell_backup(desk.context, desk.notify, SnapshotOptions())
    desk.events.clear()
    taken = desk.backup()
    assert taken.unsaved_paths == foretold.unsaved_paths
    assert taken.unsaved_paths in ([closed], [f"{closed}/"])
    assert taken.files == 1
    assert set(desk.warnings) == {"files.unreadable", "backup.shrunk"}
    assert not [event for event in desk.events if isinstance(event, Log)]
    assert list(read_marks(desk.place)) == [before]


def test_a_workspace_that_lost_its_files_as_well_is_asked_about(desk: Desk) -> None:
    desk.write("work/b")
    desk.write("work/c")
    desk.backup()
    close(desk, "env")
    for name in "abc":
        (desk.work / name).unlink()
    with pytest.raises(ShrinkGuard, match="`work` shrank"):
        desk.backup()


def test_the_last_backup_of_a_node_names_what_an_earlier_one_saved(desk: Desk) -> None:
    """The profile does not name it any more, but the node's copy is gone afterwards."""
    desk.backup()
    close(desk, "env")
    taken = with_also(desk).backup(purpose="final")
    assert taken.unsaved_paths == ["env"]
    assert read_catalogue(desk.place).snapshots[-1].also == ["env/sub"]
