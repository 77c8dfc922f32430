"""Before a node is given back: the word that its work is saved follows from bytes that were read."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from scratchflow.archive.read.verify import verify_bytes
from scratchflow.cli.clear import _shown
from scratchflow.model.results.allocation import Cleared
from scratchflow.model.results.backup import NodeSaved
from scratchflow.model.times import iso_time
from scratchflow.node import check_saved
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.store.checks.verified import Verification, record_verified
from tests.unit.conftest import Desk
from tests.unit.node.test_save_node import save

BIG = random.Random(7).randbytes(300_000)  # noqa: S311 - data


def damage(desk: Desk, snapshot: str | None, position: int = 100_000) -> None:
    with desk.place.archive(snapshot or "").open("r+b") as file:
        file.seek(position)
        byte = file.read(1)
        file.seek(position)
        file.write(bytes([byte[0] ^ 1]))


def bad(desk: Desk, snapshot: str | None) -> list[str]:
    return [one.id for one in verify_snapshots(desk.context, desk.notify, [snapshot or ""]).bad]


def came_back(desk: Desk, saved: NodeSaved, top: Path) -> dict[str, bytes]:
    desk.restore(saved.snapshot or "", to=top)
    return desk.content(top / "work")


def read_long_ago(desk: Desk, age_s: int = 3 * 86400) -> None:
    then = iso_time(time.time() - age_s) or ""
    record_verified(desk.place, [Verification(snapshot=one, time=then) for one in desk.ids])


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if everything were more than what is read each time."""
    monkeypatch.setattr(check_saved, "READ_ALWAYS_BYTES", 0)


def test_a_snapshot_that_was_damaged_since_its_commit_is_stored_anew(
    desk: Desk, tmp_path: Path
) -> None:
    first = desk.backup().snapshot
    damage(desk, first)
    saved = save(desk)
    assert saved.snapshot not in {None, first}
    assert bad(desk, saved.snapshot) == []
    assert came_back(desk, saved, tmp_path / "back") == desk.content()
    assert (saved.read_back_age_s, desk.warnings[0]) == (0, "snapshots.damaged")
    assert save(desk).snapshot == saved.snapshot


def test_so_it_is_when_the_damage_is_in_an_older_archive_that_it_needs(
    desk: Desk, tmp_path: Path
) -> None:
    first = desk.backup().snapshot
    desk.write("work/new", "changed since")
    damage(desk, first)
    saved = save(desk)
    assert bad(desk, saved.snapshot) == []
    assert came_back(desk, saved, tmp_path / "back") == desk.content()


def test_damage_of_an_older_archive_counts_only_where_the_snapshot_reads_from_it(
    desk: Desk,
) -> None:
    big = desk.write("work/gone.bin", BIG)
    first = desk.backup().snapshot
    size = desk.place.archive(first or "").stat().st_size
    big.unlink()
    desk.backup()
    taken = desk.backup()
    problems = []
    for position in range(size // 20, size, size // 20):
        damage(desk, first, position)
        problems.append(check_saved.check_saved(desk.context, desk.notify, taken).problem)
        damage(desk, first, position)
    assert 0 < problems.count("") < len(problems)


@pytest.mark.usefixtures("large")
def test_a_large_snapshot_is_read_once_a_day(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    first = desk.backup().snapshot
    read: list[Path] = []

    def noted(path: Path, *, digest: str, progress: Callable[[int], None]) -> list[str]:
        read.append(path)
        return verify_bytes(path, digest=digest, progress=progress)

    monkeypatch.setattr(check_saved, "verify_bytes", noted)
    assert (save(desk).read_back_age_s or 0) < 60
    assert read == []
    read_long_ago(desk)
    assert save(desk).read_back_age_s == 0
    assert read == [desk.place.archive(first or "")]
    assert (save(desk).read_back_age_s or 0) < 60
    assert len(read) == 1


@pytest.mark.usefixtures("large")
def test_an_old_archive_is_read_also_when_what_changed_was_stored_just_now(desk: Desk) -> None:
    first = desk.backup().snapshot
    read_long_ago(desk)
    desk.write("work/new", "changed since")
    damage(desk, first)
    saved = save(desk)
    assert bad(desk, saved.snapshot) == []


@pytest.mark.usefixtures("large")
def test_what_would_take_too_long_is_not_read_and_that_is_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.backup()
    read_long_ago(desk)
    monkeypatch.setattr("scratchflow.archive.read.hashed._REPORT_EVERY_BYTES", 1 << 10)
    monkeypatch.setattr("scratchflow.archive.read.hashed._READ_BYTES", 1 << 12)
    seconds = itertools.count(step=1000)
    slow = Desk(msgspec.structs.replace(desk.context, monotonic=lambda: float(next(seconds))))
    assert (save(slow).read_back_age_s or 0) // 86400 == 3
    assert slow.warnings == ["snapshots.not_read_back"]


@pytest.mark.parametrize(
    ("age_s", "words"),
    [
        (0, "the workspace is saved in snapshot X, read back just now"),
        (
            150,
            "the workspace is saved in snapshot X, all of it read back, the first part 2 min ago",
        ),
        (None, "the workspace is saved in snapshot X, which was not read back"),
    ],
)
def test_clear_says_what_was_checked(age_s: int | None, words: str) -> None:
    cleared = Cleared(job_id=1, snapshot="X", released=True, read_back_age_s=age_s)
    assert next(iter(_shown(cleared))) == words


@pytest.mark.usefixtures("large")
def test_of_a_new_snapshot_it_is_not_said_that_it_was_read_back_before_it_was_taken(
    desk: Desk,
) -> None:
    present = desk.context
    earlier = datetime.now(timezone.utc) - timedelta(hours=1)
    desk.context = msgspec.structs.replace(present, now=lambda: earlier)
    desk.write("work/big", BIG)
    desk.backup()
    read_long_ago(desk, age_s=800)
    desk.context = present
    desk.write("work/new", "x")
    saved = save(desk)
    cleared = Cleared(
        job_id=1,
        snapshot=saved.snapshot,
        released=True,
        read_back_age_s=saved.read_back_age_s,
    )
    line = next(iter(_shown(cleared)))
    assert line.endswith(", all of it read back, the first part 13 min ago")
