"""What retention must not take: named and marked snapshots, safety snapshots, forks, full ones."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from scratchflow.cli.backup_call import shown as _shown
from scratchflow.model.errors.snapshots import SnapshotOfJob
from scratchflow.model.events import Log
from scratchflow.model.job import JobRecord
from scratchflow.model.requests import Prune
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.snapshot import Manifest, snapshot_id
from scratchflow.node.backup import foretell_backup
from scratchflow.node.history.history import list_snapshots
from scratchflow.node.retention import prune_snapshots
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.jobs.records import make_job_directory
from scratchflow.store.retention.marks import Mark, keep
from tests.unit.conftest import Desk, make_desk, unpack_plainly

KEEP_ONE = (
    "[profiles.test.backup]\nkeep_last = 1\nkeep_hourly = 0\nkeep_daily = 0\nkeep_weekly = 0\n"
)


class Clock:
    """The time of the flows, which goes on by as much as a test says."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 15, 9, 30, tzinfo=timezone.utc)

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time

    def pass_by(self, **span: int) -> None:
        self.time += timedelta(**span)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def aging(tmp_path: Path, clock: Clock) -> Desk:
    """A desk whose rules keep next to nothing, and whose clock a test can move."""
    desk = make_desk(tmp_path, KEEP_ONE)
    desk.context = msgspec.structs.replace(desk.context, now=clock.now)
    desk.write("work/README", "hello")
    return desk


def save(desk: Desk, content: object, **options: object) -> str:
    desk.write("work/changing", f"{content}")
    return desk.backup(**options).snapshot or ""


def work_on(desk: Desk, clock: Clock, backups: int = 6, **apart: int) -> None:
    for number in range(backups):
        clock.pass_by(**apart)
        save(desk, f"{clock.time} {number}", purpose="auto", message="automatic")


def manifests(desk: Desk) -> list[Manifest]:
    return list(read_catalogue(desk.place).snapshots)


def test_a_named_snapshot_stays_for_ever(aging: Desk, clock: Clock) -> None:
    named = save(aging, "submitted", message="submitted version")
    work_on(aging, clock, days=100)
    assert named in aging.ids


def test_a_snapshot_that_nobody_named_goes(aging: Desk, clock: Clock) -> None:
    plain = save(aging, "plain")
    work_on(aging, clock)
    assert plain not in aging.ids


def test_keep_named_limits_how_long_a_named_one_stays(tmp_path: Path, clock: Clock) -> None:
    desk = make_desk(tmp_path, f'{KEEP_ONE}keep_named = "10d"\n')
    desk.context = msgspec.structs.replace(desk.context, now=clock.now)
    named = save(desk, "submitted", message="submitted version")
    work_on(desk, clock, backups=6, days=1)
    assert named in desk.ids
    work_on(desk, clock, backups=6, days=1)
    assert named not in desk.ids


@pytest.mark.slow
def test_a_safety_snapshot_stays_for_keep_unmerged(aging: Desk, clock: Clock) -> None:
    first = save(aging, "first")
    save(aging, "second")
    aging.write("work/precious", "in no snapshot yet")
    safety = aging.restore(first).safety_snapshot or ""
    work_on(aging, clock, backups=8, days=3)
    assert safety in aging.ids
    aging.restore(safety, to=aging.scratch / "out")
    assert (aging.scratch / "out/work/precious").read_text() == "in no snapshot yet"
    work_on(aging, clock, backups=8, days=3)
    assert safety not in aging.ids


def job_from(desk: Desk, snapshot: str) -> str:
    """The record of a job that runs from this snapshot."""
    submitted = desk.context.now()
    job = snapshot_id(submitted, "abcdef")
    record = JobRecord(
        id=job,
        time=f"{submitted:%Y-%m-%dT%H:%M:%SZ}",
        name="train",
        profile="p",
        workspace="work",
        snapshot=snapshot,
        command=["true"],
    )
    make_job_directory(desk.place, record)
    return job


def test_what_a_job_runs_from_stays_for_keep_jobs(tmp_path: Path, clock: Clock) -> None:
    desk = make_desk(tmp_path, f'{KEEP_ONE}keep_jobs = "9d"\n')
    desk.context = msgspec.structs.replace(desk.context, now=clock.now)
    first = save(desk, "the code")
    job_from(desk, first)
    work_on(desk, clock, backups=6, days=1)
    assert first in desk.ids
    work_on(desk, clock, backups=6, days=1)
    assert first not in desk.ids


def test_what_a_job_runs_from_is_not_removed_by_name_either(aging: Desk) -> None:
    first = save(aging, "the code")
    save(aging, "more")
    job = job_from(aging, first)
    with pytest.raises(SnapshotOfJob, match=job):
        prune_snapshots(aging.context, aging.notify, Prune(snapshots=(first,)))
    assert first in aging.ids


def test_what_a_job_ran_from_long_ago_can_be_removed_by_name(tmp_path: Path, clock: Clock) -> None:
    desk = make_desk(tmp_path, f'{KEEP_ONE}keep_jobs = "9d"\n')
    desk.context = msgspec.structs.replace(desk.context, now=clock.now)
    first = save(desk, "the code", message="kept by its name")
    job_from(desk, first)
    work_on(desk, clock, backups=12, days=1)
    assert first in desk.ids
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first,)))
    assert first not in desk.ids


@pytest.mark.slow
def test_the_tip_of_a_fork_stays_for_keep_unmerged(aging: Desk, clock: Clock) -> None:
    first = save(aging, "first", message="the way back")
    left = save(aging, "work that went another way")
    aging.restore(first)
    work_on(aging, clock, backups=8, days=3)
    assert left in aging.ids
    work_on(aging, clock, backups=8, days=3)
    assert left not in aging.ids


@pytest.fixture
def other(aging: Desk) -> Desk:
    """The same workspace on another node."""
    workspace = msgspec.structs.replace(
        aging.context.workspace, scratch=aging.scratch.parent / "other"
    )
    return Desk(msgspec.structs.replace(aging.context, workspace=workspace, node="other"))


@pytest.mark.slow
def test_work_on_two_nodes_stays_also_when_what_both_came_from_is_gone(
    aging: Desk, other: Desk, clock: Clock
) -> None:
    common = save(aging, "where both begin")
    other.restore(common)
    work_on(aging, clock)
    left = aging.ids[-1]
    assert common not in aging.ids
    work_on(other, clock, days=1)
    assert left in other.ids


def test_a_workspace_that_came_from_no_snapshot_continues_none(
    aging: Desk, other: Desk, clock: Clock
) -> None:
    left = save(aging, "work that nobody continues")
    other.write("work/README", "begun anew, by hand")
    foretold = foretell_backup(other.context, other.notify, SnapshotOptions(allow_shrink=True))
    assert foretold.parent is None
    assert other.backup(allow_shrink=True).parent is None
    work_on(other, clock, days=1)
    assert left in other.ids


@pytest.mark.slow
def test_what_was_thinned_out_does_not_look_like_a_fork(tmp_path: Path, clock: Clock) -> None:
    desk = make_desk(tmp_path, KEEP_ONE.replace("keep_hourly = 0", "keep_hourly = 3"))
    desk.context = msgspec.structs.replace(desk.context, now=clock.now)
    desk.write("work/large", os.urandom(60_000))
    work_on(desk, clock, backups=24, minutes=20)
    rows = list_snapshots(desk.context, desk.notify).snapshots
    assert [one.stays for one in rows] == [["full"], [], [], [], []]


@pytest.mark.slow
def test_restores_and_safety_snapshots_push_no_backup_out(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, KEEP_ONE.replace("keep_last = 1", "keep_last = 4"))
    backups = [save(desk, number) for number in range(4)]
    for number in range(6):
        desk.write("work/other", f"{number}")
        desk.restore(backups[number % 2])
    assert set(backups) <= set(desk.ids)


def test_a_restore_takes_no_place_among_the_three_newest_verified_backups(aging: Desk) -> None:
    backups = [save(aging, number) for number in range(3)]
    for number in range(4):
        aging.restore(backups[number % 2])
    assert set(backups) <= set(aging.ids)


def test_a_marked_snapshot_stays_until_the_mark_is_taken_away(aging: Desk, clock: Clock) -> None:
    marked = save(aging, "marked")
    shrunk = save(aging, "before it shrank")
    keep(aging.place, Mark(snapshot=marked, why="asked", time=""))
    keep(aging.place, Mark(snapshot=shrunk, why="shrink", time=""))
    work_on(aging, clock, days=100)
    assert {marked, shrunk} <= set(aging.ids)


@pytest.mark.slow
def test_every_line_keeps_a_full_snapshot_that_plain_tools_read(aging: Desk, clock: Clock) -> None:
    aging.write("work/large", os.urandom(60_000))
    for number in range(30):
        clock.pass_by(hours=11)
        save(aging, number)
        fulls = [one for one in manifests(aging) if one.kind == "full"]
        assert fulls
        age = clock.time - datetime.strptime(fulls[-1].time, "%Y-%m-%dT%H:%M:%S%z")
        assert age < timedelta(days=7, hours=12)
        target = aging.scratch / f"plain{number}"
        target.mkdir()
        unpack_plainly(aging.place.archive(fulls[-1].id), target)
        assert (target / "work/README").read_text() == "hello"


def test_a_full_snapshot_is_due_when_the_last_one_of_the_line_is_gone(
    aging: Desk,
) -> None:
    aging.write("work/large", os.urandom(60_000))
    full = save(aging, "first")
    save(aging, "second")
    assert manifests(aging)[-1].kind == "incremental"
    aging.place.manifest(full).unlink()
    save(aging, "third")
    assert manifests(aging)[-1].kind == "full"


def test_a_backup_says_what_it_removed(aging: Desk, clock: Clock) -> None:
    work_on(aging, clock)
    before = set(aging.ids)
    aging.write("work/changing", "once more")
    taken: BackupTaken = aging.backup()
    assert taken.pruned
    assert set(taken.pruned) == before - set(aging.ids)
    assert any("removed 1 old snapshot " in line for line in _shown(taken))


def test_a_restore_says_what_it_removed(aging: Desk) -> None:
    for number in range(5):
        save(aging, number, prune=False)
    before = set(aging.ids)
    aging.restore(aging.ids[-2])
    lines = [event.message for event in aging.events if isinstance(event, Log)]
    removed = before - set(aging.ids)
    assert removed
    assert any(f"removed {len(removed)} old snapshot" in line for line in lines)


@pytest.mark.slow
def test_one_backup_with_a_wrong_clock_ages_nothing_away(aging: Desk, clock: Clock) -> None:
    first = save(aging, "first", message="the way back")
    left = save(aging, "work that went another way")
    aging.restore(first)
    work_on(aging, clock)
    clock.pass_by(days=4000)
    save(aging, "from the future")
    clock.pass_by(days=-4000)
    work_on(aging, clock)
    assert left in aging.ids


@pytest.mark.slow
def test_marks_that_cannot_be_read_stop_every_removal(aging: Desk, clock: Clock) -> None:
    save(aging, "first")
    (aging.place.directory / "kept").write_text("not a directory")
    work_on(aging, clock)
    assert len(aging.ids) == 7
    assert "snapshots.not_pruned" in aging.warnings


@pytest.mark.slow
def test_a_mark_of_an_unknown_snapshot_is_harmless(aging: Desk, clock: Clock) -> None:
    keep_dir = aging.place.directory / "kept"
    plain = save(aging, "plain")
    keep(aging.place, Mark(snapshot="20200101T000000Z-abcdef", why="asked", time=""))
    (keep_dir / "README").write_text("not a mark")
    work_on(aging, clock)
    assert plain not in aging.ids


@pytest.mark.slow
def test_a_name_given_when_nothing_changed_is_not_lost(aging: Desk, clock: Clock) -> None:
    automatic = save(aging, "the version", purpose="auto", message="automatic")
    named = aging.backup(message="submitted version")
    assert named.snapshot != automatic
    again = aging.backup(message="submitted version")
    assert (again.kind, again.snapshot) == ("unchanged", named.snapshot)
    work_on(aging, clock, days=100)
    assert named.snapshot in aging.ids
    aging.restore(named.snapshot or "", to=aging.scratch / "out")
    assert (aging.scratch / "out/work/changing").read_text() == "the version"
