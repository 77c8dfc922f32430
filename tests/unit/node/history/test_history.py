"""`snapshots list` and `show` mark what is known to be damaged, and read no archive for it."""

from __future__ import annotations

import os

import pytest

from scratchflow.cli.snapshot_words import listed, shown
from scratchflow.model.requests import Show
from scratchflow.model.results.snapshots import SnapshotShown
from scratchflow.node.history.history import list_snapshots, show_snapshot
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.store.checks.verified import Verification, record_verified
from tests.unit.conftest import Desk


@pytest.fixture
def three(desk: Desk) -> Desk:
    """A full snapshot, and two that need it."""
    for number in range(3):
        desk.write(f"work/file {number}", os.urandom(50_000))
        desk.backup()
    return desk


def _damaged(desk: Desk) -> list[str | None]:
    return [one.damaged for one in list_snapshots(desk.context, desk.notify).snapshots]


def _found(desk: Desk, snapshot: str, problem: str) -> None:
    record_verified(
        desk.place, [Verification(snapshot=snapshot, time="2026-11-17T12:00:00Z", problem=problem)]
    )


def test_what_a_check_found_damaged_is_marked_with_what_needs_it(three: Desk) -> None:
    _, second, third = three.ids
    assert _damaged(three) == [None, None, None]
    _found(three, second, f"snapshot `{second}` is damaged: `{second}.tar.lz4` is short")
    needs_it = f"it needs the archive of snapshot {second}, which is damaged"
    assert _damaged(three) == [None, f"`{second}.tar.lz4` is short", None]
    found = list_snapshots(three.context, three.notify)
    assert [one.perhaps_damaged for one in found.snapshots] == [None, None, needs_it]
    lines = list(listed(found))
    assert ["DAMAGED" in line for line in lines] == [False, True, False, False, True, False]
    assert ["may be damaged" in line for line in lines] == [False, False, True, False, False, True]
    assert "3 snapshots, " in lines[3]
    assert "`scratchflow snapshots show ID` says what was found" in lines[4]
    assert "`scratchflow snapshots verify` says which" in lines[5]
    states = [
        next(line for line in shown(_show(three, one)) if line.startswith("state "))
        for one in (second, third)
    ]
    assert states[0] == f"state      DAMAGED: `{second}.tar.lz4` is short"
    assert states[1].startswith(f"state      may be damaged: {needs_it}; `scratchflow snapshots")
    verify_snapshots(three.context, three.notify, [])  # all of them are whole after all
    found = list_snapshots(three.context, three.notify)
    assert not any(one.damaged or one.perhaps_damaged for one in found.snapshots)


def _show(desk: Desk, snapshot: str) -> SnapshotShown:
    return show_snapshot(desk.context, desk.notify, Show(snapshot=snapshot))


def test_no_archive_is_read_for_a_list(three: Desk) -> None:
    for one in three.ids:
        archive = three.place.archive(one)
        size = archive.stat().st_size
        archive.chmod(0o600)
        archive.write_bytes(bytes(size))
    assert _damaged(three) == [None, None, None]
    _found(three, three.ids[0], "the archive is damaged")
    rows = list_snapshots(three.context, three.notify).snapshots
    assert all(one.damaged or one.perhaps_damaged for one in rows)
