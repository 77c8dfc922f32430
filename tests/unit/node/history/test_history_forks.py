"""Which snapshots are shown as work that went another way: also here, and to `rescue.py`."""

from __future__ import annotations

from typing import Any

from scratchflow.node.history.history import list_snapshots
from scratchflow.store.rescue import rescue
from tests.unit.conftest import Desk


def forks(desk: Desk) -> list[str]:
    shown = [one.id for one in list_snapshots(desk.context, desk.notify).snapshots if one.fork]
    reader: Any = rescue  # without types: it runs where nothing else is
    assert sorted(reader.forks_of(reader.Store(str(desk.place.directory)))) == shown
    return shown


def test_a_fork_that_somebody_went_back_to_is_none_and_what_was_left_for_it_is_one(
    desk: Desk,
) -> None:
    common = str(desk.backup().snapshot)
    desk.write("work/README", "here")
    here = str(desk.backup().snapshot)
    desk.restore(common)
    desk.write("work/README", "on another node")
    fork = str(desk.backup(beside=True).snapshot)
    assert fork in forks(desk)
    desk.restore(here)
    assert fork in forks(desk)
    desk.restore(fork)
    assert fork not in forks(desk)
    assert here in forks(desk)
