"""Retention: the rules as a user reads them, and what holds for any history at all."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scratchflow.model.profile import BackupOptions
from scratchflow.model.snapshot import Manifest, encode_manifest
from scratchflow.store.catalogue import Catalogue, Skipped, needed_archives, read_catalogue
from scratchflow.store.place import Place, open_place
from scratchflow.store.prune import prune
from scratchflow.store.retention import keep, plan_retention
from scratchflow.store.sweep import sweep
from scratchflow.testing.store import make_id, make_lock, make_manifest

DAY = 24 * 60
LONG_AFTER = 9_999_999_999.0


def rules(last: int = 1, hourly: int = 0, daily: int = 0, weekly: int = 0) -> BackupOptions:
    return BackupOptions(keep_last=last, keep_hourly=hourly, keep_daily=daily, keep_weekly=weekly)


def history(*minutes: float) -> list[Manifest]:
    return [make_manifest(make_id(one)) for one in minutes]


def test_last_keeps_the_newest() -> None:
    kept = keep(history(0, 30, 60, 90, 120), rules(last=4))
    assert list(kept) == [make_id(one) for one in (30, 60, 90, 120)]
    assert kept[make_id(120)] == ("newest", "verified", "last")
    assert kept[make_id(30)] == ("last",)


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


def test_a_month_without_work_ages_nothing_away() -> None:
    old = history(0, DAY, 2 * DAY)
    assert list(keep([*old, *history(60 * DAY)], rules(daily=4))) == [
        one.id for one in [*old, *history(60 * DAY)]
    ]


def test_three_verified_snapshots_stay_whatever_the_rules() -> None:
    assert len(keep(history(0, 30, 60, 90, 120), rules(last=1))) == 3


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


histories = st.lists(
    st.tuples(
        st.integers(0, 40 * DAY),
        st.booleans(),
        st.booleans(),
        st.sets(st.integers(0, 30), max_size=5),
    ),
    max_size=25,
    unique_by=lambda one: one[0],
)
any_rules = st.builds(
    rules, st.integers(1, 6), st.integers(0, 6), st.integers(0, 6), st.integers(0, 6)
)


def build(drawn: list[tuple[int, bool, bool, set[int]]]) -> tuple[list[Manifest], set[str]]:
    """Manifests that need some of their elders, and the ids of the damaged ones."""
    drawn = sorted(drawn, key=lambda one: one[0])
    ids = [make_id(minutes) for minutes, *_ in drawn]
    manifests = [
        make_manifest(
            ids[position],
            verified=verified,
            needs=sorted({ids[back] for back in needs if back < position}),
        )
        for position, (_, verified, _, needs) in enumerate(drawn)
    ]
    return manifests, {
        one for one, (_, _, is_damaged, _) in zip(ids, drawn, strict=True) if is_damaged
    }


@given(histories, any_rules)
def test_what_holds_for_any_history(
    drawn: list[tuple[int, bool, bool, set[int]]], options: BackupOptions
) -> None:
    manifests, damaged = build(drawn)
    catalogue = Catalogue(tuple(manifests), damaged=dict.fromkeys(damaged, "x"))
    plan = plan_retention(catalogue, options)
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
    again = keep([one for one in manifests if one.id in plan.kept], options, damaged=damaged)
    assert again.keys() == plan.kept.keys(), "a second prune finds nothing to do"


def put(place: Place, manifest: Manifest, *, with_archive: bool) -> None:
    content = manifest.id.encode()
    stored = msgspec.structs.replace(manifest, archive_bytes=len(content))
    place.manifest(manifest.id).write_bytes(encode_manifest(stored))
    if with_archive:
        place.archive(manifest.id).write_bytes(content)


@settings(deadline=None, max_examples=60)
@given(histories, st.lists(any_rules, min_size=1, max_size=3))
def test_prune_never_removes_an_archive_a_kept_snapshot_needs(
    drawn: list[tuple[int, bool, bool, set[int]]], in_turn: list[BackupOptions]
) -> None:
    """On disk, with a sweep after each prune, over several prunes with different rules."""
    manifests, damaged = build(drawn)
    with TemporaryDirectory() as directory:
        place = open_place(Path(directory) / "store", "work")
        for one in manifests:
            put(place, one, with_archive=one.id not in damaged)
        whole_before = {one.id for one in whole(place)}
        for options in in_turn:
            with make_lock(place).acquired() as lock:
                plan = prune(lock, options)
                swept = sweep(lock, LONG_AFTER)
            assert swept.names == (), "a prune leaves nothing to sweep"
            after = read_catalogue(place)
            assert {one.id for one in after.snapshots} == plan.kept.keys()
            assert {one.id for one in whole(place)} == whole_before & plan.kept.keys()
        listed = read_catalogue(place).snapshots
        needed = {archive for one in listed for archive in needed_archives(one)}
        on_disk = {name[:-8] for name in os.listdir(place.directory) if name.endswith(".tar.lz4")}
        assert on_disk <= needed, "and an archive goes with the last that needs it"


def whole(place: Place) -> list[Manifest]:
    catalogue = read_catalogue(place)
    return [one for one in catalogue.snapshots if one.id not in catalogue.damaged]


def test_an_archive_outlives_its_manifest_until_nothing_needs_it(tmp_path: Path) -> None:
    place = open_place(tmp_path, "work")
    base, *rest = (make_id(minutes) for minutes in range(0, 300, 30))
    put(place, make_manifest(base), with_archive=True)
    for one in rest[:5]:
        put(place, make_manifest(one, kind="incremental", needs=[base]), with_archive=True)
    with make_lock(place).acquired() as lock:
        assert base in prune(lock, rules(last=1)).removed
        sweep(lock, LONG_AFTER)
        assert place.archive(base).exists()
        assert read_catalogue(place).damaged == {}
        for one in rest[5:]:
            put(place, make_manifest(one), with_archive=True)
        assert base in prune(lock, rules(last=1)).unneeded_archives
    assert not place.archive(base).exists()


def test_a_prune_needs_the_lock(tmp_path: Path) -> None:
    from scratchflow.model.errors import LockLost

    lock = make_lock(open_place(tmp_path, "work"))
    for act in (lambda: prune(lock, rules()), lambda: sweep(lock, LONG_AFTER)):
        with pytest.raises(LockLost):
            act()
