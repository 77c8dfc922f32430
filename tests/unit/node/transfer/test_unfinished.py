"""A snapshot without room gives back what arrived of it before; nothing that counts is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.model.errors.store import EmptyStoreFull, NoSpace, StoreLocked
from scratchflow.model.requests import ArchiveOf, Offer, WholeSnapshot
from scratchflow.node.context import NodeContext
from scratchflow.node.transfer.copy import offer
from scratchflow.node.transfer.here import adopt_whole
from scratchflow.node.transfer.unfinished import given_up_when_full
from scratchflow.store.commit.arriving import Arriving
from scratchflow.store.directory import RESERVE_NAME, open_place
from scratchflow.store.lock.lock import StoreLock
from scratchflow.testing.store import make_id
from tests.unit.conftest import Desk, make_desk

A, B, C = make_id(0), make_id(1), make_id(2)


def _arrived(desk: Desk, *archives: str) -> None:
    for one in archives:
        Arriving(desk.place, ArchiveOf(one), 0).take(iter([b"x" * 1500]))


def _left(desk: Desk) -> list[str]:
    return sorted(path.name.partition(".")[0] for path in desk.place.arriving.iterdir())


def _full(desk: Desk, *archives: str) -> NoSpace:
    doing = given_up_when_full(desk.context, desk.notify, desk.place, archives, doing="copy")
    with pytest.raises(NoSpace) as caught, doing:
        raise NoSpace(path="/store", reason="quota")
    return caught.value


def test_what_arrived_of_it_before_is_removed_and_that_is_said(desk: Desk) -> None:
    taken = str(desk.backup().snapshot)
    _arrived(desk, A, B, C)
    hint = _full(desk, A, B, taken, make_id(9)).shown_hint
    assert hint.endswith("; 2.93 KiB that had arrived of this snapshot were removed again")
    assert _left(desk) == [C]  # of another snapshot
    assert desk.ids == [taken]
    assert desk.place.archive(taken).exists()


def test_nothing_is_said_when_nothing_had_arrived(desk: Desk) -> None:
    desk.backup()
    assert "arrived" not in _full(desk, A).shown_hint


def test_what_cannot_be_removed_is_said_to_stay(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.backup()
    _arrived(desk, A)

    def locked(*_: object, **__: object) -> None:
        raise StoreLocked(owner="a backup", stale_after="5 min")

    monkeypatch.setattr(NodeContext, "lock", locked)
    hint = _full(desk, A).shown_hint
    assert "1.46 KiB that had arrived of this snapshot stay there for a week" in hint
    assert _left(desk) == [A]


def test_another_failure_leaves_what_arrived_for_the_next_run(desk: Desk) -> None:
    desk.backup()
    _arrived(desk, A)
    doing = given_up_when_full(desk.context, desk.notify, desk.place, [A], doing="copy")
    with pytest.raises(ConnectionError), doing:
        raise ConnectionError
    assert _left(desk) == [A]


def test_one_that_arrived_whole_is_taken_in_on_a_full_disk(
    desk: Desk, coming: WholeSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve, lock = desk.place.directory / RESERVE_NAME, NodeContext.lock

    def full(*context: Any, **options: Any) -> StoreLock:
        if reserve.exists():
            raise NoSpace(path="lock.d", reason="No space left on device")
        return lock(*context, **options)

    with monkeypatch.context() as patch:
        patch.setattr(NodeContext, "lock", full)
        adopt_whole(desk.context, desk.notify, coming, doing="copy")
    assert desk.ids == [coming.id]
    assert reserve.exists(), "for `prune`, when the disk is full again"


def test_one_that_arrived_whole_is_removed_when_not_even_the_reserve_is_enough(
    desk: Desk, coming: WholeSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, tries = NodeContext.lock, iter(range(9))

    def full(*context: Any, **options: Any) -> StoreLock:
        if next(tries) < 2:
            raise NoSpace(path="lock.d", reason="No space left on device")
        return lock(*context, **options)

    monkeypatch.setattr(NodeContext, "lock", full)
    with pytest.raises(EmptyStoreFull, match="No space left") as caught:
        adopt_whole(desk.context, desk.notify, coming, doing="copy")
    assert "that had arrived of this snapshot were removed again" in caught.value.shown_hint
    assert _left(desk) == []


@pytest.fixture
def coming(desk: Desk, tmp_path: Path) -> WholeSnapshot:
    """A snapshot of another store whose archive has arrived."""
    (tmp_path / "other").mkdir()
    other = make_desk(tmp_path / "other")
    other.write("work/a")
    other.backup()
    (whole,) = offer(other.context, other.notify, Offer()).snapshots
    content = other.place.archive(whole.id).read_bytes()
    open_place(desk.context.store, "work")
    Arriving(desk.place, whole.archives[0], 0).take(iter([content]))
    return whole
