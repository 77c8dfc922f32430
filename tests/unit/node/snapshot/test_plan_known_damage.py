"""What is known to be damaged holds nothing: the next backup stores everything anew."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from scratchflow.archive.read.archive_file import open_index
from scratchflow.model.errors.snapshots import LastSnapshot, SnapshotDamaged
from scratchflow.model.events import Warned
from scratchflow.model.requests import Prune, Show
from scratchflow.node.history.history import list_snapshots, show_snapshot
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.retention import prune_snapshots
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import known_damaged, read_verified
from tests.unit.conftest import Desk, make_desk

KEEP_ONE = "backup = { keep_last = 1, keep_hourly = 0, keep_daily = 0, keep_weekly = 0 }\n"


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
    assert [one.id for one in verify_snapshots(desk.context, desk.notify, []).bad] == [damaged]
    taken = desk.backup()
    assert taken.kind == "full"
    assert "snapshots.damaged" in desk.warnings
    desk.restore(str(taken.snapshot), to=desk.scratch / "again")
    assert desk.content(desk.scratch / "again/work") == desk.content()
    assert desk.backup().kind == "unchanged"


def test_a_backup_does_not_build_on_what_an_earlier_version_called_damaged_until_it_is_checked(
    desk: Desk,
) -> None:
    first = str(desk.backup().snapshot)
    verify_snapshots(desk.context, desk.notify, [])
    record = desk.place.directory / f"verified/{first}.json"
    found = msgspec.json.decode(record.read_bytes())
    record.write_bytes(msgspec.json.encode({**found, "problem": "cut short", "reads": 3}))
    (row,) = list_snapshots(desk.context, desk.notify).snapshots
    assert (row.damaged, row.verified) == (None, False)
    shown = show_snapshot(desk.context, desk.notify, Show(snapshot=first))
    assert (shown.damaged, shown.manifest.verified) == (None, False)
    desk.write("work/README", "changed")
    assert desk.backup().kind == "full"
    (warned,) = [one for one in desk.events if isinstance(one, Warned)]
    assert f"`scratchflow snapshots verify {first}`" in warned.message
    verify_snapshots(desk.context, desk.notify, [first])
    assert list_snapshots(desk.context, desk.notify).snapshots[0].verified


def test_a_restore_saves_anew_what_only_a_damaged_snapshot_holds(desk: Desk) -> None:
    first = str(desk.backup().snapshot)
    kept = desk.write("work/data/big.bin", bytes(range(256)) * 4000).read_bytes()
    damaged = str(desk.backup().snapshot)
    damage(desk, damaged)
    verify_snapshots(desk.context, desk.notify, [])
    safety = desk.restore(first).safety_snapshot
    assert safety is not None
    desk.restore(safety, to=desk.scratch / "again")
    assert (desk.scratch / "again/work/data/big.bin").read_bytes() == kept
    with pytest.raises(SnapshotDamaged):
        desk.restore(damaged, to=desk.scratch / "never")


def test_snapshots_found_damaged_never_push_out_one_that_can_be_restored(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, KEEP_ONE)
    desk.write("work/README", "first")
    sound = str(desk.backup().snapshot)
    for number in range(4):
        desk.write("work/README", f"{number}")
        damaged = str(desk.backup(full=True).snapshot)
        damage(desk, damaged)
        verify_snapshots(desk.context, desk.notify, [damaged])
    kept = prune_snapshots(desk.context, desk.notify, Prune(dry_run=True)).kept
    assert [one for one, reasons in kept.items() if "verified" in reasons] == [sound]
    with pytest.raises(LastSnapshot):
        prune_snapshots(desk.context, desk.notify, Prune(snapshots=(sound,)))
    desk.write("work/README", "more")
    desk.backup()
    assert sound in desk.ids


def test_a_snapshot_that_reads_from_a_damaged_one_counts_as_damaged_until_found_sound(
    desk: Desk,
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "changed")
    second = str(desk.backup().snapshot)
    whole = desk.place.archive(first).read_bytes()
    damage(desk, first)
    verify_snapshots(desk.context, desk.notify, [first])
    listed = read_catalogue(desk.place).snapshots
    assert known_damaged(desk.place, listed) == {first, second}
    desk.place.archive(first).write_bytes(whole)
    later = desk.context.now() + timedelta(minutes=1)
    desk.context = msgspec.structs.replace(desk.context, now=lambda: later)
    verify_snapshots(desk.context, desk.notify, [second])
    assert known_damaged(desk.place, listed) == {first}


def test_restoring_a_damaged_snapshot_whose_files_are_still_there_stores_them_anew(
    desk: Desk,
) -> None:
    damaged = str(desk.backup().snapshot)
    content = desk.content()
    damage(desk, damaged)
    verify_snapshots(desk.context, desk.notify, [])
    desk.write("work/new", "new")
    desk.backup()
    restored = desk.restore(damaged)
    assert restored.committed_as is not None
    assert desk.content() == content
    assert verify_snapshots(desk.context, desk.notify, [restored.committed_as]).bad == []


def test_a_directory_in_the_place_of_an_archive_keeps_no_other_snapshot_from_being_verified(
    desk: Desk,
) -> None:
    bad = str(desk.backup(full=True).snapshot)
    desk.write("work/more")
    good = str(desk.backup(full=True).snapshot)
    desk.place.archive(bad).unlink()
    desk.place.archive(bad).mkdir()
    found = verify_snapshots(desk.context, desk.notify, [])
    assert (found.checked, [one.id for one in found.bad]) == (2, [bad])
    assert "not a file" in found.bad[0].reason
    assert not read_verified(desk.place)[good].problem
