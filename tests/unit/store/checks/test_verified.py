"""What is known about each snapshot's bytes: the last finding counts, and rubbish counts for nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import DamagedAtSource, SnapshotDamaged
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.snapshot import NEWEST_FORMAT, Manifest
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.checks.verified import (
    Verification,
    doubted,
    forget_verified,
    known_damage,
    known_damaged,
    known_problems,
    noting_damage,
    read_back_at,
    read_verified,
    record_verified,
    verified_at,
)
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.testing.store import make_id, make_manifest

A, B, C = make_id(0), make_id(1), make_id(2)
NOON, LATER = "2026-11-15T12:00:00Z", "2026-11-15T13:00:00Z"
NOON_S, LATER_S, NOW_S = 1794744000.0, 1794747600.0, 1794800000.0


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


def _found(snapshot: str, time: str = NOON, problem: str = "") -> Verification:
    return Verification(snapshot=snapshot, time=time, problem=problem, reads=NEWEST_FORMAT)


def _note_by_earlier(place: StoreDirectory, snapshot: str, time: str, problem: str) -> None:
    """As a scratchflow notes it that does not say which formats it reads."""
    record_verified(place, [_found(snapshot)])
    content = f'{{"snapshot":"{snapshot}","time":"{time}","problem":"{problem}","is_own":true}}\n'
    (place.directory / f"verified/{snapshot}.json").write_text(content)


def test_the_last_finding_of_each_snapshot_is_known(place: StoreDirectory) -> None:
    assert read_verified(place) == {}
    record_verified(place, [_found(A, problem="bad"), _found(B)])
    record_verified(place, [_found(A, LATER)])
    assert read_verified(place) == {A: _found(A, LATER), B: _found(B)}
    forget_verified(place, [A, C])
    assert read_verified(place) == {B: _found(B)}


def test_rubbish_is_passed_over_and_does_not_hang(place: StoreDirectory) -> None:
    record_verified(place, [_found(A)])
    directory = place.directory / "verified"
    (directory / f"{B}.json").write_bytes((directory / f"{A}.json").read_bytes())  # of another
    os.mkfifo(directory / f"{C}.json")
    (directory / f"{make_id(3)}.json").symlink_to(f"{A}.json")
    (directory / f"{make_id(4)}.json").write_text("{")
    (directory / "notes.txt").write_text("mine")
    assert read_verified(place) == {A: _found(A)}
    assert known_damage(place, [B, C, "../x"]) is None


def test_only_an_id_becomes_a_file(place: StoreDirectory) -> None:
    with pytest.raises(ValueError, match="not a snapshot id"):
        record_verified(place, [_found("../x")])


def test_a_store_that_cannot_be_written_costs_the_note_alone(place: StoreDirectory) -> None:
    (place.directory / "verified").write_text("in the way")
    record_verified(place, [_found(A)])
    assert read_verified(place) == {}


def test_damage_reaches_what_reads_from_a_damaged_archive_until_it_was_found_sound(
    place: StoreDirectory,
) -> None:
    snapshots = [make_manifest(A), make_manifest(B, needs=[A]), make_manifest(C)]
    record_verified(place, [_found(A, NOON, "bad")])
    assert known_damaged(place, snapshots) == {A, B}
    record_verified(place, [_found(B, LATER)])
    assert known_damaged(place, snapshots) == {A}
    record_verified(place, [_found(A, "2026-11-15T14:00:00Z", "worse")])
    assert known_damaged(place, snapshots) == {A, B}
    assert known_damage(place, [C, B, A]) == _found(A, "2026-11-15T14:00:00Z", "worse")


def _problems(place: StoreDirectory, snapshots: list[Manifest]) -> dict[str, str]:
    return known_problems(Catalogue(tuple(snapshots)), read_verified(place))


def test_what_is_seen_now_is_said_rather_than_what_was_found(place: StoreDirectory) -> None:
    record_verified(place, [_found(A, NOON, "bad")])
    listed = Catalogue((make_manifest(A), make_manifest(B)), damaged={A: "gone", B: "cut"})
    assert known_problems(listed, read_verified(place)) == {A: "gone", B: "cut"}


def test_damage_that_an_earlier_version_found_is_neither_believed_nor_called_sound(
    place: StoreDirectory,
) -> None:
    first, second, third = make_manifest(A), make_manifest(B, needs=[A]), make_manifest(C)
    snapshots = [first, second, third]
    _note_by_earlier(place, A, NOON, "it is cut short")
    assert _problems(place, snapshots) == {}
    assert doubted(place, snapshots) == {A, B}
    assert known_damaged(place, snapshots) == {A, B}  # nothing is built on them
    assert verified_at(first, read_verified(place), NOW_S) is None
    record_verified(place, [_found(A, LATER, "worse")])
    assert _problems(place, snapshots).keys() == {A, B}
    assert doubted(place, snapshots) == frozenset()
    record_verified(place, [_found(A, LATER)])
    assert not known_damaged(place, snapshots)


def test_doubt_hides_no_damage_that_this_version_knows_of(place: StoreDirectory) -> None:
    snapshots = [make_manifest(A), make_manifest(B, needs=[A])]
    record_verified(place, [_found(A, NOON, "bad")])
    _note_by_earlier(place, B, LATER, "it is cut short")
    assert _problems(place, snapshots).keys() == {A, B}
    assert doubted(place, snapshots) == frozenset()


def test_an_earlier_version_that_found_nothing_wrong_is_believed(place: StoreDirectory) -> None:
    _note_by_earlier(place, A, NOON, "")
    assert verified_at(make_manifest(A, time="never"), read_verified(place), NOW_S) == NOON_S
    assert not known_damaged(place, [make_manifest(A)])


def test_a_snapshot_was_read_back_when_it_was_taken_and_never_in_the_future() -> None:
    manifest = make_manifest(A, time=NOON)
    assert verified_at(manifest, {}, NOW_S) == NOON_S
    assert verified_at(manifest, {A: _found(A, LATER)}, NOW_S) == LATER_S
    assert verified_at(manifest, {}, NOON_S - 1) is None
    assert verified_at(make_manifest(A, time=NOON, verified=False), {}, NOW_S) is None
    assert verified_at(make_manifest(A, time="never"), {}, NOW_S) is None


def test_what_a_snapshot_needs_is_as_old_as_its_oldest_part() -> None:
    first, second = make_manifest(A, time=NOON), make_manifest(B, time=LATER, needs=[A])
    both = [first, second]
    assert read_back_at(second, both, {}, NOW_S) == NOON_S
    assert read_back_at(second, both, {B: _found(B, LATER)}, NOW_S) == LATER_S
    assert read_back_at(second, [second], {}, NOW_S) is None
    assert read_back_at(second, both, {A: _found(A, NOON, "bad")}, NOW_S) is None


def _met(error: ScratchflowError, cause: Exception | None, place: StoreDirectory) -> None:
    with pytest.raises(type(error)), noting_damage(place, A):
        raise error from cause


def test_damage_that_a_reader_meets_is_noted(place: StoreDirectory) -> None:
    _met(SnapshotDamaged(snapshot=A, reason="x", archive=A), ValueError("x"), place)
    assert read_verified(place)[A].problem == f"snapshot `{A}` is damaged: x"
    assert read_verified(place)[A].is_own
    _met(SnapshotDamaged(snapshot=A, reason="x", archive=B), None, place)
    assert not read_verified(place)[A].is_own
    assert B not in read_verified(place)  # its snapshot is gone
    place.manifest(B).write_text("{}")
    _met(SnapshotDamaged(snapshot=A, reason="x", archive=B), None, place)
    assert read_verified(place)[B].is_own


def test_damage_that_was_known_makes_nothing_doubtful_that_was_found_sound_since(
    place: StoreDirectory,
) -> None:
    snapshots = [make_manifest(A), make_manifest(B, needs=[A])]
    record_verified(place, [_found(A, NOON, "bad"), _found(B, NOON)])
    _met(SnapshotDamaged(snapshot=A, reason="x", archive=A), None, place)
    assert known_damaged(place, snapshots) == {A}
    assert read_verified(place)[A].time == NOON


def test_damage_of_a_snapshot_that_is_not_listed_reaches_what_needs_its_archive(
    place: StoreDirectory,
) -> None:
    record_verified(place, [_found(A, NOON, "bad")])
    assert known_damaged(place, [make_manifest(B, needs=[A])]) == {B}


def test_damage_in_an_archive_whose_snapshot_is_gone_is_none_of_its_readers_archive(
    place: StoreDirectory,
) -> None:
    """A reads from one that was pruned; B reads from A's own archive, which is whole."""
    snapshots = [make_manifest(A, needs=[C]), make_manifest(B, needs=[A])]
    _met(SnapshotDamaged(snapshot=A, reason="x", archive=C), None, place)
    assert known_damaged(place, snapshots) == {A}


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (SnapshotDamaged(snapshot=A, reason="x", archive=A), OSError(116, "stale")),
        (SnapshotDamaged(snapshot=B, reason="x"), None),
        (DamagedAtSource(snapshot=A, source="s", reason="x"), None),
        (StoreUnusable(path="/s", reason="x"), None),
    ],
)
def test_what_is_no_damage_of_this_snapshot_is_not_noted(
    place: StoreDirectory, error: ScratchflowError, cause: Exception | None
) -> None:
    _met(error, cause, place)
    assert read_verified(place) == {}
