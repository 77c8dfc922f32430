"""A snapshot without room gives back what arrived of it before; nothing that counts is touched."""

from __future__ import annotations

import pytest

from scratchflow.model.errors.store import NoSpace, StoreLocked
from scratchflow.model.requests import ArchiveOf
from scratchflow.node.context import NodeContext
from scratchflow.node.transfer.unfinished import given_up_when_full
from scratchflow.store.commit.arriving import Arriving
from scratchflow.testing.store import make_id
from tests.unit.conftest import Desk

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
