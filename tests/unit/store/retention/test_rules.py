"""Retention: the rules as a user reads them, and what holds for any history at all."""

from __future__ import annotations

import os
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scratchflow.model.profile import BackupOptions
from scratchflow.model.snapshot import Manifest, encode_manifest
from scratchflow.model.times import iso_time
from scratchflow.model.units import Span
from scratchflow.store.catalogue import (
    Catalogue,
    Skipped,
    begun_at,
    needed_archives,
    read_catalogue,
)
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.retention.lineage import lineage_of, read_noted
from scratchflow.store.retention.marks import Mark
from scratchflow.store.retention.marks import keep as marks_keep
from scratchflow.store.retention.prune import prune
from scratchflow.store.retention.rules import PASSING, Decided, keep, plan_removal, plan_retention
from scratchflow.store.retention.sweep import sweep
from scratchflow.testing.store import make_id, make_lock, make_manifest

DAY = 24 * 60
LONG_AFTER = 9_999_999_999.0


def rules(last: int = 1, hourly: int = 0, daily: int = 0, weekly: int = 0) -> BackupOptions:
    return BackupOptions(keep_last=last, keep_hourly=hourly, keep_daily=daily, keep_weekly=weekly)


def history(*minutes: float) -> list[Manifest]:
    """One line: each came from the one before."""
    parents = [None, *map(make_id, minutes)]
    return [
        make_manifest(make_id(one), parent=parent, kind="incremental" if parent else "full")
        for one, parent in zip(minutes, parents, strict=False)
    ]


def test_last_keeps_the_newest() -> None:
    kept = keep(history(0, 30, 60, 90, 120), rules(last=4))
    assert list(kept) == [make_id(one) for one in (0, 30, 60, 90, 120)]
    assert kept[make_id(0)] == ("full",)
    assert kept[make_id(120)] == ("newest", "verified", "last")
    assert kept[make_id(30)] == ("last",)


def test_each_reason_is_given_once_also_for_the_full_snapshot_of_several_lines() -> None:
    first, second, third = history(0, 30, 60)
    fork = msgspec.structs.replace(third, id=make_id(90), parent=first.id)
    kept = keep([first, second, third, fork], rules(last=4))
    assert kept[first.id].count("full") == 1
    assert all(len(set(reasons)) == len(reasons) for reasons in kept.values())


def test_hourly_keeps_the_newest_of_each_hour_that_has_one() -> None:
    kept = keep(
        history(0, 29, 40, 50, 5 * DAY, 5 * DAY + 1, 5 * DAY + 2, 5 * DAY + 3), rules(hourly=3)
    )
    assert [one for one in kept if "hourly" in kept[one]] == [
        make_id(29),
        make_id(50),
        make_id(5 * DAY + 3),
    ]


def test_daily_and_weekly_keep_the_newest_of_each() -> None:
    days = history(*(day * DAY for day in range(30)))
    kept = keep(days, rules(daily=5, weekly=3))
    assert [one[:8] for one in kept if "daily" in kept[one]] == [
        "20261210", "20261211", "20261212", "20261213", "20261214",
    ]  # fmt: skip
    # 2026-12-14 is a Monday: the weeks end on Sundays, the 6th and the 13th.
    assert [one[:8] for one in kept if "weekly" in kept[one]] == [
        "20261206",
        "20261213",
        "20261214",
    ]


def test_after_a_backup_with_the_clock_ahead_hours_and_days_count_by_the_true_times() -> None:
    before, ahead = history(0, 400 * DAY)
    minutes = [1 + hour * 60 + day * DAY for day in range(3) for hour in range(12)]
    later = [
        make_manifest(
            make_id(400 * DAY + number / 60),
            time=iso_time(begun_at(make_id(taken)).timestamp()),
            parent=ahead.id,
            kind="incremental",
            purpose="auto",
        )
        for number, taken in enumerate(minutes, start=1)
    ]
    now = begun_at(make_id(minutes[-1]))
    options = BackupOptions(keep_last=2, keep_hourly=3, keep_daily=3, keep_unmerged=Span(3600))
    kept = keep([before, ahead, *later], options, Decided(now=now))
    by_id = {one.id: one.time for one in later}
    assert [by_id[one][8:13] for one in kept if "hourly" in kept[one]] == [
        "17T18",
        "17T19",
        "17T20",
    ]
    days = [by_id[one][8:13] for one in kept if "daily" in kept[one]]
    assert days == ["15T20", "16T20", "17T20"]
    young = [by_id.get(one, "")[8:] for one in kept if "fork" in kept[one]]
    assert young == ["17T19:31:00Z"], "what is an hour old is no longer young"


def test_what_was_saved_with_the_clock_behind_does_not_look_old() -> None:
    first, second, third = history(0, 60, 120)
    behind = make_manifest(
        make_id(1), time="2020-01-01T00:00:00Z", parent=first.id, purpose="safety"
    )
    kept = keep([first, behind, second, third], rules(), Decided(now=begun_at(third.id)))
    assert "safety" in kept[behind.id]


def test_a_month_without_work_ages_nothing_away() -> None:
    old = history(0, DAY, 2 * DAY)
    later = make_manifest(make_id(60 * DAY), parent=old[-1].id)
    assert list(keep([*old, later], rules(daily=4))) == [one.id for one in [*old, later]]


def test_three_verified_snapshots_stay_whatever_the_rules() -> None:
    kept = keep(history(0, 30, 60, 90, 120), rules(last=1))
    assert list(kept) == [make_id(one) for one in (0, 60, 90, 120)]
    assert kept[make_id(0)] == ("full",)


def test_nothing_goes_while_nothing_newer_is_verified() -> None:
    unverified = [
        msgspec.structs.replace(one, verified=False) for one in history(*range(0, 600, 30))
    ]
    assert len(keep(unverified, rules(last=1))) == len(unverified)


def test_a_run_of_damaged_snapshots_pushes_no_good_one_out() -> None:
    snapshots = history(*range(0, 600, 30))
    good, bad = snapshots[:10], snapshots[10:]
    kept = keep(snapshots, rules(last=5), damaged={one.id for one in bad})
    assert {one.id for one in good[-5:]} <= kept.keys()
    assert {one.id for one in bad} <= kept.keys()


def test_an_unusable_manifest_blocks_every_removal() -> None:
    catalogue = Catalogue(
        snapshots=tuple(history(*range(0, 600, 30))),
        skipped=(Skipped(make_id(5), "it was made by a newer scratchflow"),),
    )
    plan = plan_retention(catalogue, rules(last=1))
    assert plan.removed == plan.unneeded_archives == ()
    assert plan.blocked is not None
    assert "newer scratchflow" in plan.blocked


def test_nothing_is_kept_of_nothing() -> None:
    assert keep([], rules()) == {}


PURPOSES = ["asked", "auto", "final", "safety", "restored", "created", "imported"]


class Drawn(msgspec.Struct, frozen=True):
    """A snapshot of a history that hypothesis makes up; numbers are positions in the history."""

    minutes: int
    verified: bool
    damaged: bool
    needs: frozenset[int]
    parent: int
    kind: str
    purpose: str
    message: str
    mark: str | None


one_drawn = st.builds(
    Drawn,
    minutes=st.integers(0, 60 * DAY),
    verified=st.booleans(),
    damaged=st.booleans(),
    needs=st.frozensets(st.integers(0, 30), max_size=5),
    # Mostly the one before; sometimes another one, or none.
    parent=st.integers(-3, 30),
    kind=st.sampled_from(["full", "incremental", "incremental"]),
    purpose=st.sampled_from(PURPOSES),
    message=st.sampled_from(["", "", "a name"]),
    mark=st.sampled_from([None, None, None, None, "asked", "shrink"]),
)
histories = st.lists(one_drawn, max_size=25, unique_by=lambda one: one.minutes)
spans = st.sampled_from([Span(None), Span(0), Span(5 * 86400), Span(30 * 86400)])


@st.composite
def any_rules(draw: st.DrawFn) -> BackupOptions:
    plain = rules(
        draw(st.integers(1, 6)),
        draw(st.integers(0, 6)),
        draw(st.integers(0, 6)),
        draw(st.integers(0, 6)),
    )
    return msgspec.structs.replace(plain, keep_named=draw(spans), keep_unmerged=draw(spans))


def build(drawn: list[Drawn]) -> tuple[list[Manifest], set[str], dict[str, Mark]]:
    """Manifests that need and come from some of their elders, the damaged ids, and the marks."""
    drawn = sorted(drawn, key=lambda one: one.minutes)
    ids = [make_id(one.minutes) for one in drawn]
    manifests = [
        make_manifest(
            ids[position],
            verified=one.verified,
            needs=sorted({ids[back] for back in one.needs if back < position}),
            parent=parent_of(ids, position, one.parent),
            kind=one.kind,
            purpose=one.purpose,
            message=one.message,
        )
        for position, one in enumerate(drawn)
    ]
    damaged = {snapshot for snapshot, one in zip(ids, drawn, strict=True) if one.damaged}
    marks = {
        snapshot: Mark(snapshot=snapshot, why=one.mark, time="")  # type: ignore[arg-type]  # one of two
        for snapshot, one in zip(ids, drawn, strict=True)
        if one.mark
    }
    return manifests, damaged, marks


def parent_of(ids: list[str], position: int, wanted: int) -> str | None:
    if position == 0 or wanted == -1:
        return None
    return ids[wanted] if 0 <= wanted < position else ids[position - 1]


def without_children(manifests: list[Manifest]) -> set[str]:
    return {one.id for one in manifests} - {one.parent or "" for one in manifests}


@pytest.mark.slow
@given(histories, any_rules())
def test_what_holds_for_any_history(drawn: list[Drawn], options: BackupOptions) -> None:
    manifests, damaged, marks = build(drawn)
    catalogue = Catalogue(tuple(manifests), damaged=dict.fromkeys(damaged, "x"))
    plan = plan_retention(catalogue, options, Decided(marks=marks))
    good = [one.id for one in manifests if one.verified and one.id not in damaged]

    assert set(plan.kept) | set(plan.removed) == {one.id for one in manifests}
    assert not set(plan.kept) & set(plan.removed)
    assert all(plan.kept.values())
    assert {one.id for one in manifests[-1:]} <= plan.kept.keys()
    assert set(good[-max(3, options.keep_last) :]) <= plan.kept.keys()
    for removed in plan.removed:
        assert any(newer > removed for newer in good)
    needed = {
        archive for one in manifests if one.id in plan.kept for archive in needed_archives(one)
    }
    assert not needed & set(plan.unneeded_archives)
    staying = tuple(one for one in manifests if one.id in plan.kept)
    again = plan_retention(
        Catalogue(staying, damaged=catalogue.damaged),
        options,
        Decided(marks=marks, noted=plan.lineage, now=at_second_newest(manifests)),
    )
    assert again.kept.keys() == plan.kept.keys(), "a second prune finds nothing to do"


def at_second_newest(manifests: list[Manifest]) -> datetime:
    return begun_at(manifests[:-1][-1].id if manifests[:-1] else make_id())


@pytest.mark.slow
@given(histories, any_rules())
def test_what_a_person_or_a_restore_set_aside_stays_in_any_history(
    drawn: list[Drawn], options: BackupOptions
) -> None:
    manifests, damaged, marks = build(drawn)
    kept = keep(manifests, options, Decided(marks=marks), damaged=damaged)
    assert marks.keys() <= kept.keys()
    backups = [one.id for one in manifests if one.purpose not in PASSING]
    assert set(backups[-options.keep_last :]) <= kept.keys(), "others took no place of theirs"
    if options.keep_named.seconds is None:
        named = {one.id for one in manifests if one.purpose == "asked" and one.message}
        assert named <= kept.keys()
    if options.keep_unmerged.seconds is None:
        assert {one.id for one in manifests if one.purpose == "safety"} <= kept.keys()
        assert without_children(manifests) <= kept.keys()


@pytest.mark.slow
@given(histories, any_rules())
def test_each_line_that_stays_keeps_its_newest_full_snapshot(
    drawn: list[Drawn], options: BackupOptions
) -> None:
    manifests, damaged, marks = build(drawn)
    kept = keep(manifests, options, Decided(marks=marks), damaged=damaged)
    by_id = {one.id: one for one in manifests}
    good = {one.id for one in manifests if one.verified and one.id not in damaged}
    lines = {one: line(by_id, one) for one in kept}
    inner = {older for ids in lines.values() for older in ids[1:]}
    for end in kept.keys() - inner:
        fulls = [one for one in lines[end] if one in good and by_id[one].kind == "full"]
        assert set(fulls[:1]) <= kept.keys()


def line(by_id: dict[str, Manifest], snapshot: str) -> list[str]:
    ids = []
    at: str | None = snapshot
    while at is not None:
        ids.append(at)
        at = by_id[at].parent
    return ids


def put(place: StoreDirectory, manifest: Manifest, *, with_archive: bool) -> None:
    content = manifest.id.encode()
    stored = msgspec.structs.replace(manifest, archive_bytes=len(content))
    place.manifest(manifest.id).write_bytes(encode_manifest(stored))
    if with_archive:
        place.archive(manifest.id).write_bytes(content)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(histories, st.lists(any_rules(), min_size=1, max_size=3))
def test_prune_never_removes_an_archive_a_kept_snapshot_needs(
    drawn: list[Drawn], in_turn: list[BackupOptions]
) -> None:
    """On disk, with a sweep after each prune, over several prunes with different rules."""
    manifests, damaged, marks = build(drawn)
    with TemporaryDirectory() as directory:
        place = open_place(Path(directory) / "store", "work")
        for one in manifests:
            put(place, one, with_archive=one.id not in damaged)
        for mark in marks.values():
            marks_keep(place, mark)
        whole_before = {one.id for one in whole(place)}
        for options in in_turn:
            with make_lock(place).acquired() as lock:
                plan = prune(lock, options)
                swept = sweep(lock, LONG_AFTER)
            assert swept.names == (), "a prune leaves nothing to sweep"
            after = read_catalogue(place)
            assert {one.id for one in after.snapshots} == plan.kept.keys()
            assert {one.id for one in whole(place)} == whole_before & plan.kept.keys()
            assert all(came_from(manifests, *pair) for pair in lineage_now(place).items())
        listed = read_catalogue(place).snapshots
        needed = {archive for one in listed for archive in needed_archives(one)}
        on_disk = {name[:-8] for name in os.listdir(place.directory) if name.endswith(".tar.lz4")}
        assert on_disk <= needed, "and an archive goes with the last that needs it"


def lineage_now(place: StoreDirectory) -> dict[str, str]:
    return lineage_of(read_catalogue(place).snapshots, read_noted(place))


def came_from(manifests: list[Manifest], snapshot: str, ancestor: str) -> bool:
    return ancestor in line({one.id: one for one in manifests}, snapshot)


@pytest.mark.slow
@given(histories, st.sets(st.integers(0, 30), max_size=6))
def test_removing_by_id_removes_those_and_nothing_that_others_need(
    drawn: list[Drawn], positions: set[int]
) -> None:
    manifests, _, _ = build(drawn)
    unwanted = {manifests[one].id for one in positions if one < len(manifests)}
    plan = plan_removal(Catalogue(tuple(manifests)), unwanted, {})
    assert set(plan.removed) == unwanted
    needed = {
        archive for one in manifests if one.id not in unwanted for archive in needed_archives(one)
    }
    assert not needed & set(plan.unneeded_archives)


def whole(place: StoreDirectory) -> list[Manifest]:
    catalogue = read_catalogue(place)
    return [one for one in catalogue.snapshots if one.id not in catalogue.damaged]


def test_an_archive_outlives_its_manifest_until_nothing_needs_it(tmp_path: Path) -> None:
    place = open_place(tmp_path, "work")
    base, *rest = (make_id(minutes) for minutes in range(0, 300, 30))
    put(place, make_manifest(base, kind="incremental"), with_archive=True)
    for parent, one in pairwise([base, *rest[:5]]):
        manifest = make_manifest(one, kind="incremental", needs=[base], parent=parent)
        put(place, manifest, with_archive=True)
    with make_lock(place).acquired() as lock:
        assert base in prune(lock, rules(last=1)).removed
        sweep(lock, LONG_AFTER)
        assert place.archive(base).exists()
        assert read_catalogue(place).damaged == {}
        for parent, one in pairwise(rest[4:]):
            put(place, make_manifest(one, parent=parent), with_archive=True)
        assert base in prune(lock, rules(last=1)).unneeded_archives
    assert not place.archive(base).exists()


def test_a_prune_needs_the_lock(tmp_path: Path) -> None:
    from scratchflow.model.errors.store import LockLost

    lock = make_lock(open_place(tmp_path, "work"))
    for act in (lambda: prune(lock, rules()), lambda: sweep(lock, LONG_AFTER)):
        with pytest.raises(LockLost):
            act()


def test_forks_of_many_nodes_push_no_backup_out() -> None:
    """Each hour a backup of the first node, and then forks of two others."""
    work = history(*(hour * 60 for hour in range(6)))
    forks = [
        make_manifest(make_id(hour * 60 + minute), parent=work[0].id, beside=True)
        for hour in range(6)
        for minute in (10, 20)
    ]
    kept = keep([*work, *forks], rules(last=3, hourly=4))
    assert [one.id for one in work if "hourly" in kept.get(one.id, ())] == [
        one.id for one in work[2:]
    ]
    assert [one.id for one in work if "last" in kept.get(one.id, ())] == [
        one.id for one in work[3:]
    ]
    assert [one for one in kept if "newest" in kept[one]] == [work[-1].id]
    assert "fork" not in kept[work[-1].id]
    assert all("fork" in kept[one.id] for one in forks)  # nothing continues them


def test_a_fork_that_is_whole_does_not_stand_for_a_newer_backup_that_is_not() -> None:
    """The newest backup is not verified, and a fork beside it is: what the rules would let go stays."""
    work = history(*range(0, 300, 60))
    work[-1] = msgspec.structs.replace(work[-1], verified=False)
    fork = make_manifest(make_id(250), parent=work[-1].id, beside=True)
    kept = keep([*work, fork], rules(last=1))
    assert {one.id for one in work[1:4]} <= {one for one in kept if "verified" in kept[one]}
