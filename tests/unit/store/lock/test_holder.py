"""Who is shown as the holder of a lock: only one that gives signs of life."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.lock.holder import living_holder
from scratchflow.store.lock.lock import LockTiming
from scratchflow.store.lock.owner import this_process
from scratchflow.testing.store import make_lock


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


def test_a_holder_is_told_until_it_gives_the_lock_back(place: StoreDirectory) -> None:
    assert living_holder(place, time.time()) is None
    with make_lock(place, doing="scratchflow backup").acquired():
        found = living_holder(place, time.time())
        assert found is not None
        assert (found.doing, found.host) == ("scratchflow backup", this_process().host)
    assert living_holder(place, time.time()) is None


def test_one_that_is_silent_or_dead_is_not_told(place: StoreDirectory) -> None:
    with make_lock(place).acquired():
        assert living_holder(place, time.time() + LockTiming().stale_after_s + 60) is None
    gone = msgspec.structs.replace(this_process(), start_ticks=1)
    with make_lock(place, process=gone).acquired():
        assert living_holder(place, time.time()) is None


def test_one_whose_job_has_ended_is_gone_when_the_lock_may_be_taken_over(
    place: StoreDirectory,
) -> None:
    timing = LockTiming()
    with make_lock(place, job_id=41).acquired():
        soon_s = time.time() + timing.heartbeat_s
        later_s = time.time() + timing.job_over_after_s + 5
        assert living_holder(place, soon_s, {41}), "it may have outlived its job"
        assert living_holder(place, later_s, {41}) is None
        assert living_holder(place, later_s, {40})
        assert living_holder(place, later_s)
