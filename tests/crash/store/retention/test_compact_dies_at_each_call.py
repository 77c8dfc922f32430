"""A rewriting of an archive that dies at each call it makes: what is needed can be restored, always."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from scratchflow.archive.tree import chunks
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.retention.compact import compact
from scratchflow.store.retention.prune import remove
from scratchflow.store.retention.sweep import sweep
from scratchflow.testing.dying import Moment, run_and_die
from scratchflow.testing.store import make_lock
from tests.unit.conftest import Desk, make_desk

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

MIB = 1 << 20
MOMENTS: list[Moment] = ["before", "torn", "after"]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A store with one snapshot, which needs a little of an archive whose snapshot is gone."""
    monkeypatch.setattr(chunks, "MIN_CHUNKED_BYTES", MIB)
    desk = make_desk(tmp_path)
    content = os.urandom(3 * MIB)
    desk.write("work/large", content)
    first = desk.backup().snapshot or ""
    desk.write("work/large", content[:MIB] + os.urandom(MIB // 2))
    desk.backup(allow_shrink=True)
    with make_lock(desk.place).acquired() as lock:
        remove(lock, [first])
    return desk


def _compact(place: StoreDirectory) -> None:
    with make_lock(place).acquired() as lock:
        compact(lock)


def test_killed_anywhere_nothing_is_lost(desk: Desk, tmp_path: Path) -> None:
    place = desk.place.directory
    template = tmp_path / "template"
    shutil.copytree(place, template)
    before = sum(path.stat().st_size for path in template.iterdir())
    expected = desk.content()
    deaths = 0
    for moment in MOMENTS:
        for at_call in range(1, 1000):
            shutil.rmtree(place)
            shutil.copytree(template, place)
            if not run_and_die(lambda: _compact(desk.place), at_call, moment):
                break
            deaths += 1
            assert verify_snapshots(desk.context, desk.notify, []).bad == []
            target = tmp_path / "out"
            desk.restore("latest", to=target)
            assert desk.content(target / "work") == expected
            shutil.rmtree(target)
        # The next one does it, and leaves nothing behind.
        with make_lock(desk.place).acquired() as lock:
            sweep(lock, time.time() + 400)
            compact(lock)
        assert set(os.listdir(place)) - {"lock.d"} == set(os.listdir(template))
        assert sum(path.stat().st_size for path in place.glob("*.*")) < before - MIB
    assert deaths > 30
