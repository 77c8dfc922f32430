"""What is known to be damaged holds nothing: the next backup stores everything anew."""

from __future__ import annotations

import pytest

from scratchflow.archive.read.reader import open_index
from scratchflow.model.errors import SnapshotDamaged
from scratchflow.node.history import verify_snapshots

from .conftest import Desk


def damage(desk: Desk, snapshot: str) -> None:
    """Turns a bit over in the content that the archive holds."""
    archive = desk.place.archive(snapshot)
    index = open_index(archive)
    content = bytearray(archive.read_bytes())
    content[index.archives[-1].packed_ends[0] // 2] ^= 16
    archive.write_bytes(content)


def test_a_backup_never_builds_on_an_archive_that_verify_found_damaged(desk: Desk) -> None:
    desk.backup()
    desk.write("work/data/big.bin", bytes(range(256)) * 4000)
    damaged = str(desk.backup().snapshot)
    damage(desk, damaged)
    assert [one.id for one in verify_snapshots(desk.here, desk.teller, []).bad] == [damaged]
    taken = desk.backup()
    assert taken.kind == "full"
    assert "snapshots.damaged" in desk.warnings
    desk.restore(str(taken.snapshot), to=desk.scratch / "again")
    assert desk.content(desk.scratch / "again/work") == desk.content()
    assert desk.backup().kind == "unchanged"


def test_a_restore_saves_anew_what_only_a_damaged_snapshot_holds(desk: Desk) -> None:
    first = str(desk.backup().snapshot)
    kept = desk.write("work/data/big.bin", bytes(range(256)) * 4000).read_bytes()
    damaged = str(desk.backup().snapshot)
    damage(desk, damaged)
    verify_snapshots(desk.here, desk.teller, [])
    safety = desk.restore(first).safety_snapshot
    assert safety is not None
    desk.restore(safety, to=desk.scratch / "again")
    assert (desk.scratch / "again/work/data/big.bin").read_bytes() == kept
    with pytest.raises(SnapshotDamaged):
        desk.restore(damaged, to=desk.scratch / "never")
