"""The auto-backup gives up what nobody needs of archives whose snapshots were removed, between its backups."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from scratchflow.archive.read.proven import is_left
from scratchflow.archive.tree import chunks
from scratchflow.node.autobackup import compaction as compacting
from scratchflow.node.autobackup.compaction import LAST_MINUTES_S, LEAST_WAIT_S, Compaction
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.store.retention.prune import remove
from scratchflow.testing.store import make_lock
from tests.unit.conftest import Desk

MIB = 1 << 20
DEADLINE_S = 60.0
LONG_S = 100_000.0


@pytest.fixture(autouse=True)
def small_files_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MIN_CHUNKED_BYTES", MIB)
    monkeypatch.setattr(compacting, "FIRST_LOOK_S", 0.0)
    monkeypatch.setattr(compacting, "_NEXT_ROUND_S", 0.0)


@pytest.fixture
def wasteful(desk: Desk) -> Desk:
    """One snapshot, which needs a third of each of two archives whose snapshots are gone."""
    for name in ("one", "two"):
        content = os.urandom(3 * MIB)
        desk.write(f"work/{name}", content)
        removed = desk.backup(never_full=True).snapshot or ""
        desk.write(f"work/{name}", content[:MIB] + os.urandom(MIB // 2))
        desk.backup(allow_shrink=True, never_full=True)
        with make_lock(desk.place).acquired() as lock:
            remove(lock, [removed, *desk.ids[:-1]])
    return desk


def left(desk: Desk) -> int:
    """How many archives were rewritten."""
    ids = [
        path.name.removesuffix(".tar.lz4") for path in desk.place.directory.glob("[!.]*.tar.lz4")
    ]
    return sum(is_left(one, desk.place.archive) for one in ids)


def until(condition: Callable[[], bool], step: Callable[[], None] = lambda: None) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        step()
        time.sleep(0.01)


def start(desk: Desk) -> tuple[Compaction, list[str]]:
    lines: list[str] = []
    return Compaction(desk.context, desk.place, lines.append), lines


@pytest.mark.slow
def test_rounds_follow_each_other_until_nothing_is_left_to_do(
    wasteful: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compacting, "ROUND_BYTES", 1)
    content = wasteful.content()
    one, _ = start(wasteful)
    rounds: set[int | None] = set()

    def step() -> None:
        one.tend(LONG_S, LONG_S)
        rounds.add(one._process)

    until(lambda: one._look_at_s is None and one._process is None, step)
    assert left(wasteful) == 2
    assert len(rounds - {None}) == 3  # one archive in each, and a look that found nothing
    assert verify_snapshots(wasteful.context, wasteful.notify, []).bad == []
    target = wasteful.scratch / "out"
    wasteful.restore(wasteful.ids[-1], to=target)
    assert wasteful.content(target / "work") == content


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wait_s", "left_s"), [(LEAST_WAIT_S - 1, LONG_S), (LONG_S, LAST_MINUTES_S - 1), (0, None)]
)
def test_nothing_is_begun_shortly_before_a_backup_or_the_end_of_the_job(
    wasteful: Desk, wait_s: float, left_s: float | None
) -> None:
    one, _ = start(wasteful)
    one.tend(wait_s, left_s)
    assert one._process is None
    one.tend(LONG_S, None)
    assert one._process is not None
    one.stop()


@pytest.mark.slow
def test_a_round_that_is_ended_while_it_holds_the_lock_leaves_it_to_the_next_backup(
    wasteful: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compacting, "compact", lambda *_: time.sleep(DEADLINE_S))
    one, _ = start(wasteful)
    one.tend(LONG_S, LONG_S)
    until(wasteful.place.lock.exists)
    process = one._process
    assert process is not None
    one.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert wasteful.place.lock.exists()
    wasteful.write("work/more", "more")
    wasteful.backup()
    assert verify_snapshots(wasteful.context, wasteful.notify, []).bad == []


@pytest.mark.slow
def test_somebody_who_holds_the_lock_is_not_waited_for(wasteful: Desk) -> None:
    one, _ = start(wasteful)
    with make_lock(wasteful.place).acquired():
        one.tend(LONG_S, LONG_S)
        until(lambda: one._process is None, lambda: one.tend(0, None))
    assert left(wasteful) == 0
    assert one._look_at_s is not None
    assert one._look_at_s > time.monotonic() + 60
    one.look_again()
    until(lambda: left(wasteful) == 2, lambda: one.tend(LONG_S, LONG_S))
    one.stop()
