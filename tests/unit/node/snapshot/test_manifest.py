"""What a manifest says of its snapshot is what is in it, who took it, and with which settings."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from scratchflow import __version__
from scratchflow.archive.tree.tree import Counts
from scratchflow.node.snapshot.manifest import plain_manifest
from scratchflow.store.catalogue import read_catalogue, taken_at
from scratchflow.testing.store import EPOCH, make_id
from tests.unit.conftest import Desk, make_desk


def test_a_full_and_an_incremental_snapshot_say_what_they_are(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, 'backup.also = ["env"]\nbackup.exclude = ["*.o"]\n')
    desk.write("work/a", "12345")
    desk.write("work/skipped.o")
    desk.write("env/b", os.urandom(1_000_000))
    (desk.work / "link").symlink_to("a")
    desk.backup(message="first", purpose="asked")
    desk.write("work/c", "1")
    desk.backup(purpose="auto")
    first, second = read_catalogue(desk.place).snapshots
    assert (first.kind, first.parent, first.needs) == ("full", None, [])
    assert (second.kind, second.parent, second.needs) == ("incremental", first.id, [first.id])
    assert (first.files, first.dirs, first.links, first.bytes) == (2, 2, 1, 1_000_005)
    assert (second.files, second.bytes) == (3, 1_000_006)
    for one in (first, second):
        assert (one.workspace, one.also, one.exclude) == ("work", ["env"], ["*.o"])
        assert (one.host, one.tool_version) == (os.uname().nodename, __version__)
        assert one.archive_bytes == desk.place.archive(one.id).stat().st_size
        assert one.verified
    assert (first.message, first.purpose, second.purpose) == ("first", "asked", "auto")


def test_roots_that_were_asked_for_are_what_is_noted(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, 'backup.also = ["env"]\n')
    desk.write("work/a")
    desk.write("old/b")
    desk.backup(roots=["work", "old"])
    assert read_catalogue(desk.place).snapshots[0].also == ["old"]


def test_its_time_is_that_of_its_id(desk: Desk) -> None:
    at(desk, EPOCH)
    manifest = plain_manifest(desk.context, make_id(9), Counts(1, 2, 3, 4), 5, "00")
    assert manifest.time == "2026-11-15T09:39:00Z"
    assert (manifest.files, manifest.dirs, manifest.links, manifest.bytes) == (1, 2, 3, 4)
    assert not manifest.verified


def test_after_a_backup_with_the_clock_ahead_its_time_is_that_of_the_clock(desk: Desk) -> None:
    times = [EPOCH, EPOCH + timedelta(days=400), EPOCH + timedelta(hours=1)]
    for now in times:
        at(desk, now)
        desk.write("work/README", f"at {now}")
        desk.backup()
    listed = read_catalogue(desk.place).snapshots
    assert [taken_at(one) for one in listed] == times, "ids keep the order of the backups"
    assert [one.kind for one in listed] == ["full"] * 3, "no full one is put off by 400 days"


def at(desk: Desk, now: datetime) -> None:
    desk.context = msgspec.structs.replace(desk.context, now=lambda: now)
