"""A run that dies before, within or after each single call it makes: nothing is lost, ever."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from scratchflow.model.profile import BackupOptions
from scratchflow.model.units import Span
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.directory import LINEAGE_NAME, StoreDirectory, open_place
from scratchflow.store.retention.prune import prune
from scratchflow.store.retention.sweep import sweep
from scratchflow.testing.dying import Moment, run_and_die
from scratchflow.testing.store import commit_bytes, make_id, make_lock, verify_archive

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

RULES = BackupOptions(
    keep_last=1, keep_hourly=0, keep_daily=0, keep_weekly=0, keep_unmerged=Span(0)
)
EARLIER = [make_id(minutes) for minutes in (0, 30, 60, 90, 120)]
NEW = make_id(150)
MOMENTS: list[Moment] = ["before", "torn", "after"]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with five snapshots, the first of them needed by all."""
    store = tmp_path_factory.mktemp("template") / "store"
    with make_lock(open_place(store, "work")).acquired() as lock:
        commit_bytes(lock, EARLIER[0], b"base")
        for parent, snapshot in pairwise(EARLIER):
            chain = {"kind": "incremental", "needs": [EARLIER[0]], "parent": parent}
            commit_bytes(lock, snapshot, b"delta", **chain)
    return store


def back_up(place: StoreDirectory) -> None:
    with make_lock(place).acquired() as lock:
        sweep(lock, time.time())
        commit_bytes(lock, NEW, b"new bytes", kind="incremental", needs=[EARLIER[0]])


def prune_all(place: StoreDirectory) -> None:
    with make_lock(place).acquired() as lock:
        prune(lock, RULES)


def deaths(
    template: Path, action: Callable[[StoreDirectory], None], still_wanted: list[str]
) -> int:
    """Dies at every call in turn and checks the store each time; the number of deaths."""
    count = 0
    for moment in MOMENTS:
        for at_call in range(1, 1000):
            store = template.with_name("trial")
            shutil.rmtree(store, ignore_errors=True)
            shutil.copytree(template, store)
            place = open_place(store, "work")
            if not run_and_die(lambda place=place: action(place), at_call, moment):  # type: ignore[misc]
                break
            count += 1
            check(place, still_wanted)
    return count


def check(place: StoreDirectory, still_wanted: list[str]) -> None:
    listed = read_catalogue(place)
    assert listed.skipped == ()
    assert listed.damaged == {}
    for one in listed.snapshots:
        verify_archive(place, one)
    assert set(still_wanted) <= {one.id for one in listed.snapshots}
    check_next_run(place, listed)


def check_next_run(place: StoreDirectory, before: Catalogue) -> None:
    """The next run gets the lock at once, and leaves no litter."""
    with make_lock(place).acquired() as lock:
        sweep(lock, time.time() + 400)
        commit_bytes(lock, make_id(180), b"next", needs=[EARLIER[0]])
    after = read_catalogue(place)
    assert after.snapshots[:-1] == before.snapshots
    assert after.damaged == {}
    manifests = {f"{one.id}.json" for one in after.snapshots}
    archives = {f"{one.id}.tar.lz4" for one in after.snapshots} | {f"{EARLIER[0]}.tar.lz4"}
    assert set(os.listdir(place.directory)) - {LINEAGE_NAME} == manifests | archives


def test_killed_commit_leaves_previous_snapshot_listed_and_readable(template: Path) -> None:
    assert deaths(template, back_up, EARLIER) > 60


def test_killed_prune_leaves_kept_snapshots_listed_and_readable(template: Path) -> None:
    assert deaths(template, prune_all, EARLIER[-3:]) > 40


def test_a_run_killed_while_it_clears_up_after_a_killed_one_costs_nothing(template: Path) -> None:
    killed = template.with_name("killed")
    shutil.copytree(template, killed)
    place = open_place(killed, "work")
    assert run_and_die(lambda: back_up(place), 2, "torn")
    assert {"lock.d", place.temp_archive(NEW).name} <= set(os.listdir(place.directory))
    assert deaths(killed, back_up, EARLIER) > 60
