"""Snapshots as people name them: found, or answered with what is there."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model.ages import short_id
from scratchflow.model.errors.snapshots import (
    LatestUnreadable,
    SnapshotAmbiguous,
    SnapshotMissing,
    SnapshotUnreadable,
)
from scratchflow.model.moments import read_moment
from scratchflow.model.zone import Zone
from scratchflow.store.catalogue import Catalogue, Skipped
from scratchflow.store.names import Asker, find_snapshot
from scratchflow.testing.store import EPOCH, make_id, make_manifest

DAY = 24 * 60
BERLIN = Zone(((0, 3600),))
# 15 Nov 2026, 09:30 UTC is `EPOCH`; now is the next day at 10:30 in Berlin.
NOW_S = EPOCH.timestamp() + DAY * 60


def catalogue(*ids: str, skipped: tuple[str, ...] = (), **messages: str) -> Catalogue:
    """With `messages` by the last six characters of an id, or by a letter that they repeat."""
    manifests = [
        msgspec.structs.replace(make_manifest(one), message=messages.get(one[-1], ""))
        for one in sorted(ids)
    ]
    broken = tuple(Skipped(one, "its manifest is damaged") for one in skipped)
    return Catalogue(snapshots=tuple(manifests), skipped=broken)


def asker(told: list[str] | None = None) -> Asker:
    return Asker(NOW_S, BERLIN, (told if told is not None else []).append)


def found(listed: Catalogue, wanted: str) -> str:
    return find_snapshot(listed, wanted, asker()).id


A, B, C = make_id(0, "aaaaaa"), make_id(30, "bbbbbb"), make_id(DAY - 60, "cccccc")
THREE = catalogue(A, B, C, a="submitted version", b="first build", c="First try")


@pytest.mark.parametrize("wanted", [A, "aaaaaa", "20261115T0930", "aaaa", "0930", "Z-aaa", "aaa"])
def test_any_part_that_one_id_has_finds_it(wanted: str) -> None:
    assert found(THREE, wanted) == A


@pytest.mark.parametrize("wanted", ["a", "aa", "", "zzz", "aaab", "20251115", "../x", "%s{wanted}"])
def test_what_is_not_there_is_answered_with_what_is(wanted: str) -> None:
    with pytest.raises(SnapshotMissing) as caught:
        found(THREE, wanted)
    hint = caught.value.shown_hint
    assert 'aaaaaa (24 h ago, "submitted version")' in hint
    assert "`scratchflow snapshots list`" in hint
    with pytest.raises(SnapshotMissing) as caught:
        found(Catalogue(), wanted)
    assert "scratchflow backup" in caught.value.shown_hint


@pytest.mark.parametrize(
    ("wanted", "meant"), [("first build", '`@"first build"`'), ("Built", "`@Built`")]
)
def test_a_message_without_its_mark_is_answered_with_it(wanted: str, meant: str) -> None:
    with pytest.raises(SnapshotMissing) as caught:
        found(catalogue(A, B, b="first build", a="built"), wanted)
    assert f"did you mean {meant}?" in caught.value.shown_hint


def test_several_are_listed_and_none_is_chosen() -> None:
    with pytest.raises(SnapshotAmbiguous, match="`20261115` fits 2 snapshots") as caught:
        found(THREE, "20261115")
    assert caught.value.shown_hint.startswith(
        'they are bbbbbb (23 h ago, "first build"), aaaaaa (24 h ago, "submitted version");'
    )
    many = catalogue(*(make_id(minute, f"{minute:06x}") for minute in range(9)))
    with pytest.raises(SnapshotAmbiguous) as caught:
        found(many, "20261115")
    assert caught.value.shown_hint.endswith("and 5 older; write one of these ids, or more of it")


def test_where_two_ids_end_alike_they_are_listed_in_full() -> None:
    twins = catalogue(make_id(0, "bbbbbb"), make_id(30, "bbbbbb"))
    with pytest.raises(SnapshotAmbiguous) as caught:
        found(twins, "bbbbbb")
    assert make_id(0, "bbbbbb") in caught.value.shown_hint


def test_a_whole_id_or_its_end_comes_before_a_part_of_another() -> None:
    listed = catalogue(make_id(0, "093030"), make_id(30, "bbbbbb"))
    assert found(listed, "093030") == make_id(0, "093030")
    assert found(listed, make_id(30, "bbbbbb")) == make_id(30, "bbbbbb")


@given(st.sets(st.integers(0, 2**24 - 1), min_size=1, max_size=8), st.data())
def test_every_part_finds_its_own_or_is_refused_and_never_another(
    tokens: set[int], data: st.DataObject
) -> None:
    ids = [make_id(number, f"{token:06x}") for number, token in enumerate(sorted(tokens))]
    wanted = data.draw(st.sampled_from(ids))
    begin = data.draw(st.integers(0, len(wanted) - 3))
    part = wanted[begin : data.draw(st.integers(begin + 3, len(wanted)))]
    assert read_moment(part, NOW_S, BERLIN) is None
    holders = [one for one in ids if part in one]
    try:
        assert found(catalogue(*ids), part) in holders
    except SnapshotAmbiguous:
        assert len(holders) > 1
    assert found(catalogue(*ids), short_id(wanted)) == wanted


def test_latest_and_those_before_it_by_the_lines_of_the_list() -> None:
    assert [found(THREE, f"latest{back}") for back in ("", "~0", "~1", "~", "~2", "~~")] == [
        *(C, C, B, B, A, A)
    ]
    with pytest.raises(SnapshotMissing) as caught:
        found(THREE, "latest~3")
    assert "there are only 3 snapshots" in caught.value.shown_hint


@pytest.mark.parametrize("slip", ["latets", "yesterdey"])
def test_a_mistyped_word_is_guessed_and_an_id_never(slip: str) -> None:
    with pytest.raises(SnapshotMissing, match=slip) as caught:
        found(THREE, slip)
    assert "did you mean `" in caught.value.shown_hint
    with pytest.raises(SnapshotMissing) as caught:
        found(THREE, make_id(1, "aaaaab"))
    assert "did you mean" not in caught.value.shown_hint


@pytest.mark.parametrize(
    ("wanted", "snapshot"),
    [
        ("yesterday", B),
        ("today", C),
        ("10:30", C),  # it is that minute
        ("10:31", A),
        ("yesterday 10:59", A),
        ("yesterday 11:00", B),
        ("2026-11-15 11:00", B),
        ("2026-11-15T09:59:59Z", A),
        ("15 Nov", B),
        ("90 min ago", B),
        ("an hour ago", C),
        ("1 day ago", A),
    ],
)
def test_a_time_means_what_was_the_newest_then(wanted: str, snapshot: str) -> None:
    assert found(THREE, wanted) == snapshot


def test_a_snapshot_found_by_time_is_told() -> None:
    told: list[str] = []
    find_snapshot(THREE, "yesterday", asker(told))
    assert told == ['`yesterday` is snapshot bbbbbb (15 Nov 11:00, 23 h ago, "first build")']
    find_snapshot(THREE, "bbbbbb", asker(told))
    assert len(told) == 1


def test_a_day_without_a_snapshot_means_the_one_before_and_says_so() -> None:
    told: list[str] = []
    old = catalogue(make_id(-3 * DAY, "dddddd"))
    assert find_snapshot(old, "yesterday", asker(told)).id == make_id(-3 * DAY, "dddddd")
    assert "none was taken that day" in told[0]


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ("2026-11-14", "the oldest snapshot is aaaaaa (15 Nov 10:30, 24 h ago)"),
        ("2 weeks ago", "the oldest snapshot is aaaaaa"),
        ("2026-11-17", "in the future"),
        ("2026-02-30", "not in the calendar"),
        ("25:00", "no time of day"),
    ],
)
def test_a_time_that_no_snapshot_can_have_is_refused(wanted: str, reason: str) -> None:
    with pytest.raises(SnapshotMissing) as caught:
        found(THREE, wanted)
    assert reason in caught.value.shown_hint


def test_a_message_is_found_as_lists_show_it() -> None:
    listed = catalogue(A, B, b=f"before restoring {A}")
    for wanted in ("@before restoring aaaaaa", f"@before restoring {A}", "@restoring aaaaaa"):
        assert found(listed, wanted) == B
    with pytest.raises(SnapshotMissing) as caught:
        found(listed, "@none")
    assert '`@"before restoring aaaaaa"`' in caught.value.shown_hint


def test_a_message_names_a_snapshot() -> None:
    for wanted in ('@"submitted version"', "@submitted version", "@Submitted", "@version"):
        assert found(THREE, wanted) == A
    with pytest.raises(SnapshotAmbiguous):
        found(THREE, "@first")
    assert found(THREE, "@First try") == C
    for wanted in ("@", "@nothing", '@""'):
        with pytest.raises(SnapshotMissing) as caught:
            found(THREE, wanted)
        assert '`@"first build"`' in caught.value.shown_hint
    with pytest.raises(SnapshotMissing) as caught:
        found(catalogue(A), "@x")
    assert "no snapshot has a name yet" in caught.value.shown_hint


@pytest.mark.parametrize("wanted", [B, "bbbbbb", "latest~1", "yesterday", "15 Nov 11:00"])
def test_a_snapshot_that_cannot_be_read_is_never_passed_over_for_an_older_one(wanted: str) -> None:
    with pytest.raises(
        SnapshotUnreadable, match=f"`{B}` cannot be read: its manifest is damaged"
    ) as caught:
        found(catalogue(A, C, skipped=(B,)), wanted)
    assert f"repair `{B}.json` in the store" in caught.value.shown_hint


def test_latest_refuses_while_the_newest_cannot_be_read() -> None:
    with pytest.raises(LatestUnreadable):
        found(catalogue(A, B, skipped=(C,)), "latest")


def test_a_minute_copied_from_a_list_holds_the_snapshot_taken_later_in_it() -> None:
    listed = catalogue(A, make_id(0.5, "eeeeee"))
    assert found(listed, "yesterday 10:30") == make_id(0.5, "eeeeee")


def test_a_fork_is_found_by_its_id_and_counts_neither_back_nor_as_what_was_newest_then() -> None:
    forks = {make_id(10, "dddddd"), make_id(DAY - 30, "eeeeee")}
    every = catalogue(A, B, C, *forks)
    marked = tuple(msgspec.structs.replace(one, beside=one.id in forks) for one in every.snapshots)
    listed = msgspec.structs.replace(every, snapshots=marked)
    assert found(listed, "eeeeee") == make_id(DAY - 30, "eeeeee")
    assert [found(listed, wanted) for wanted in ("latest", "latest~1", "latest~2")] == [C, B, A]
    assert [found(listed, wanted) for wanted in ("today", "yesterday 10:50")] == [C, A]


def test_after_a_backup_with_the_clock_ahead_times_and_days_find_what_was_taken_then() -> None:
    ahead = make_manifest(make_id(400 * DAY, "dddddd"))
    yesterday = make_manifest(make_id(400 * DAY + 1, "eeeeee"), time="2026-11-15T17:00:00Z")
    today = make_manifest(make_id(400 * DAY + 2, "ffffff"), time="2026-11-16T08:00:00Z")
    listed = Catalogue(snapshots=(*THREE.snapshots[:2], ahead, yesterday, today))
    told: list[str] = []
    assert find_snapshot(listed, "yesterday", asker(told)) == yesterday
    assert told == ["`yesterday` is snapshot eeeeee (15 Nov 18:00, 16 h ago)"]
    assert found(listed, "today") == today.id
    assert found(listed, "2 hours ago") == yesterday.id
    assert found(listed, "latest") == today.id
