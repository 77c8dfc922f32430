"""The daily check: which snapshot is read back, when, and what is said of it."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta, timezone

import msgspec
import pytest

from scratchflow.model.times import iso_time
from scratchflow.node.autobackup import scrub
from scratchflow.node.autobackup.scrub import DAY_S, Scrub, choose
from scratchflow.node.backup import backup
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.checks.verified import Verification, read_verified, record_verified
from tests.unit.conftest import Desk

DEADLINE_S = 60.0


@pytest.fixture
def old(desk: Desk) -> Desk:
    """Three snapshots: of ten, of five days ago, and of now."""
    for days in (10, 5, 0):
        desk.write("work/file", f"{days} days ago")
        then = datetime.now(timezone.utc) - timedelta(days=days)
        backup(
            msgspec.structs.replace(desk.context, now=lambda then=then: then),
            desk.notify,
            SnapshotOptions(),
        )
    return desk


def catalogue(desk: Desk) -> Catalogue:
    return read_catalogue(desk.place)


def run_once(desk: Desk) -> tuple[Scrub, list[str]]:
    """One check from beginning to end."""
    lines: list[str] = []
    one = Scrub(desk.context, desk.place, lines.append)
    until = time.monotonic() + DEADLINE_S
    while not lines:
        assert time.monotonic() < until
        one.tend()
        time.sleep(0.01)
    return one, lines


def at(seconds_ago: float) -> str:
    return iso_time(time.time() - seconds_ago) or ""


def test_the_one_that_was_read_back_longest_ago_is_next_once_a_day(old: Desk) -> None:
    first, second, _ = old.ids
    now_s = time.time()

    def chosen() -> str | None:
        found, _ = choose(catalogue(old), read_verified(old.place), now_s)
        return found.id if found else None

    assert chosen() == first
    record_verified(old.place, [Verification(snapshot=first, time=at(60))])
    assert chosen() is None
    record_verified(old.place, [Verification(snapshot=first, time=at(DAY_S + 60))])
    assert chosen() == second
    # A time that is yet to come says nothing.
    record_verified(old.place, [Verification(snapshot=first, time=at(-9 * DAY_S))])
    assert chosen() == first


def test_a_sound_snapshot_is_read_back_and_noted(
    old: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrub, "FIRST_LOOK_S", 0)
    one, lines = run_once(old)
    assert lines == [f"snapshot {old.ids[0]} was read back and is sound"]
    assert [found.problem for found in read_verified(old.place).values()] == [""]
    assert one.damaged == []


def test_damage_is_found_and_told(old: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrub, "FIRST_LOOK_S", 0)
    archive = old.place.archive(old.ids[0])
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    one, lines = run_once(old)
    assert lines[0].startswith(f"snapshot {old.ids[0]} is damaged: ")
    assert one.damaged == [old.ids[0]]


def test_it_neither_waits_nor_outlives_the_loop(old: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrub, "FIRST_LOOK_S", 0)
    monkeypatch.setattr(scrub, "verify_snapshots", lambda *_: time.sleep(DEADLINE_S))
    one = Scrub(old.context, old.place, lambda _: None)
    one.tend()
    process = one._process
    assert process is not None
    one.tend()
    one.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert read_verified(old.place) == {}


def test_a_record_of_a_snapshot_that_is_gone_is_dropped(
    old: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrub, "FIRST_LOOK_S", 0)
    gone = "20200101T000000Z-abcdef"
    record_verified(old.place, [Verification(snapshot=gone, time=at(DAY_S * 2), problem="gone")])
    one, _ = run_once(old)
    assert gone not in read_verified(old.place)
    assert one.damaged == []


def test_verify_notes_what_it_found(old: Desk) -> None:
    verify_snapshots(old.context, old.notify, [])
    assert sorted(read_verified(old.place)) == old.ids
