"""Which snapshot came from which, also when those in between were removed."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model.snapshot import Manifest
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.retention.lineage import (
    joined,
    line_of,
    lineage_of,
    newest_full,
    parents_known,
    parents_of_removed,
    read_noted,
    tips,
    without,
    write_noted,
)
from scratchflow.testing.store import make_id, make_manifest


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


def _history(parents: list[int | None]) -> list[Manifest]:
    """Snapshot number i came from number parents[i]."""
    ids = [make_id(number) for number in range(len(parents))]
    return [
        make_manifest(ids[number], parent=None if parent is None else ids[parent])
        for number, parent in enumerate(parents)
    ]


_PARENTS = st.lists(st.integers(0, 100), max_size=12).map(
    lambda numbers: [n % at if at and n % 5 else None for at, n in enumerate(numbers)]
)


@given(parents=_PARENTS, removals=st.lists(st.sets(st.integers(0, 11)), max_size=3))
def test_removing_in_any_order_keeps_who_came_from_whom(
    parents: list[int | None], removals: list[set[int]]
) -> None:
    snapshots = _history(parents)
    whole = lineage_of(snapshots, {})
    noted: dict[str, str] = {}
    for removal in removals:
        removed = {make_id(number) for number in removal}
        noted = without(snapshots, lineage_of(snapshots, noted), removed)
        snapshots = [one for one in snapshots if one.id not in removed]
    left = {one.id for one in snapshots}
    lineage = lineage_of(snapshots, noted)
    for one in left:
        assert list(line_of(one, lineage)) == [each for each in line_of(one, whole) if each in left]


def test_a_snapshot_whose_parent_was_removed_still_has_its_ancestor() -> None:
    snapshots = _history([None, 0, 1, 2])
    noted = without(snapshots, lineage_of(snapshots, {}), {make_id(1), make_id(2)})
    assert noted == {make_id(3): make_id(0)}
    left = [snapshots[0], snapshots[3]]
    assert lineage_of(left, noted) == {make_id(3): make_id(0)}


def test_a_snapshot_taken_after_its_parent_was_removed_has_what_that_came_from() -> None:
    before = _history([None, 0, 1])
    removed = {make_id(1), make_id(2)}
    noted = parents_of_removed(before, {}, removed)
    after = [before[0], make_manifest(make_id(3), parent=make_id(2))]
    assert lineage_of(after, noted) == {make_id(3): make_id(0)}
    assert lineage_of(after, {}) == {}


def test_the_tip_of_a_fork_is_what_nothing_came_from() -> None:
    snapshots = _history([None, 0, 0, 1])
    assert tips(snapshots, lineage_of(snapshots, {})) == {make_id(2), make_id(3)}


def test_the_newest_full_one_of_a_line_is_found() -> None:
    snapshots = _history([None, 0, 1, 2])
    lineage = lineage_of(snapshots, {})
    assert newest_full(make_id(3), lineage, {make_id(0), make_id(1)}) == make_id(1)
    assert newest_full(make_id(3), lineage, set()) is None


def test_notes_that_lead_in_a_circle_or_to_itself_end() -> None:
    one, other = make_id(0), make_id(1)
    assert list(line_of(one, {one: other, other: one})) == [one, other]
    assert lineage_of([make_manifest(one)], {one: one}) == {}


@pytest.mark.parametrize("what", ["nothing", "half", "list", "fifo", "link"])
def test_notes_that_cannot_be_read_are_none(place: StoreDirectory, what: str) -> None:
    path = place.directory / "lineage.json"
    if what == "fifo":
        os.mkfifo(path)
    elif what == "link":
        (place.directory / "real").write_text('{"a": "b"}')
        path.symlink_to("real")
    elif what != "nothing":
        path.write_text("{" if what == "half" else "[]")
    assert read_noted(place) == {}


def test_notes_are_replaced_only_when_they_change(place: StoreDirectory) -> None:
    write_noted(place, {make_id(1): make_id(0)})
    path = place.directory / "lineage.json"
    before = path.stat().st_ino
    write_noted(place, {make_id(1): make_id(0)})
    assert path.stat().st_ino == before
    write_noted(place, {})
    assert read_noted(place) == {}


def test_a_fork_beside_the_newest_does_not_continue_what_it_came_from() -> None:
    first, second, fork, later_fork = _history([None, 0, 1, 2])
    beside = [msgspec.structs.replace(one, beside=True) for one in (fork, later_fork)]
    snapshots = [first, second, *beside]
    assert tips(snapshots, lineage_of(snapshots, {})) == {second.id, later_fork.id}


@given(
    parents=_PARENTS,
    removals=st.lists(st.sets(st.integers(0, 11)), max_size=3),
    copies=st.lists(st.integers(0, 11), max_size=6),
)
def test_a_store_with_some_of_the_snapshots_knows_who_came_from_whom(
    parents: list[int | None], removals: list[set[int]], copies: list[int]
) -> None:
    everything = snapshots = _history(parents)
    whole = lineage_of(snapshots, {})
    copied: list[Manifest] = []
    noted: dict[str, str] = {}
    noted_there: dict[str, str] = {}
    for number in range(max(len(removals), len(copies))):
        wanted = {make_id(each) for each in copies[number : number + 1]}
        copied += [one for one in snapshots if one.id in wanted and one not in copied]
        noted_there = joined(copied, noted_there, parents_known(snapshots, noted))
        removed = {make_id(each) for each in next(iter(removals[number : number + 1]), set())}
        noted = {
            **parents_of_removed(snapshots, noted, removed),
            **without(snapshots, lineage_of(snapshots, noted), removed),
        }
        snapshots = [one for one in snapshots if one.id not in removed]
    assert {one.id for one in copied} <= {one.id for one in everything}
    lineage = lineage_of(copied, noted_there)
    there = {one.id for one in copied}
    for one in there:
        expected = [each for each in line_of(one, whole) if each in there]
        assert list(line_of(one, lineage)) == expected


def test_what_another_store_says_makes_no_circle_and_no_ancestor_of_a_later_snapshot() -> None:
    first, second = make_id(0), make_id(1)
    snapshots = [make_manifest(first, parent=make_id(5)), make_manifest(second, parent=make_id(6))]
    elsewhere = {make_id(5): second, make_id(6): make_id(7), make_id(7): make_id(6)}
    assert joined(snapshots, {}, elsewhere) == {}
