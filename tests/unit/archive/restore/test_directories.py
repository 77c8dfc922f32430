"""Directories that several processes make come out as one process makes them."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from scratchflow.archive.restore import directories, extract
from scratchflow.archive.restore.placer import Placer
from scratchflow.archive.tree.tree import DIRECTORY
from scratchflow.archive.workers.helpers import Helpers
from tests.unit.archive.conftest import Bench, tree_state

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="helpers are forked on Linux only")


@pytest.fixture(autouse=True)
def always_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "usable_cores", lambda: 3)
    monkeypatch.setattr(directories, "_LEAST_EACH", 1)


def bushy(bench: Bench) -> None:
    """Deep and wide, with directories that nobody may enter or write to once they are finished."""
    deepest = bench.work
    for number in range(12):
        deepest /= f"deep-{number}"
        for beside in range(number % 5):
            (deepest / f"beside-{beside}" / "inside").mkdir(parents=True)
        (deepest / "file").parent.mkdir(parents=True, exist_ok=True)
        (deepest / "file").write_bytes(b"x")
    for number in range(40):
        (bench.work / "wide" / f"{number}").mkdir(parents=True)
    for number, (top, names, _) in enumerate(os.walk(bench.work, topdown=False)):
        for name in names:
            os.utime(os.path.join(top, name), ns=(5, 1_000_000_007 * number))
    os.chmod(bench.work / "wide", 0o500)
    os.chmod(bench.work / "deep-0" / "deep-1" / "deep-2", 0o500)
    os.chmod(bench.work / "wide" / "7", 0o1700)


def made_by(monkeypatch: pytest.MonkeyPatch, method: str) -> list[int]:
    """Notes which process does what to a directory; a helper's notes stay with it."""
    plain, asked = getattr(Placer, method), []

    def noted(placer: Placer, entry: int) -> object:
        asked.append(entry)
        return plain(placer, entry)

    monkeypatch.setattr(Placer, method, noted)
    return asked


def test_all_of_them_come_back_and_helpers_took_part(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bushy(bench)
    index = bench.backup("A")
    # Before this process gets to its first share, helpers are to have taken some.
    take = Helpers.next_share

    def late(helpers: Helpers) -> int | None:
        if helpers.processes:
            os.waitid(os.P_PID, helpers.processes[0], os.WEXITED | os.WNOWAIT)
        return take(helpers)

    made = made_by(monkeypatch, "directory")
    finished = made_by(monkeypatch, "directory_metadata")
    before = tree_state(bench.scratch)
    asker = os.getpid()
    monkeypatch.setattr(
        Helpers,
        "next_share",
        lambda helpers: late(helpers) if os.getpid() == asker else take(helpers),
    )
    assert tree_state(bench.restore(index)) == before
    count = len(index.of_kind(DIRECTORY))
    assert len(made) < count
    assert len(finished) < count


@pytest.mark.parametrize("method", ["directory", "directory_metadata"])
@pytest.mark.parametrize("trouble", ["killed", "fails"])
def test_what_a_helper_could_not_do_is_done_all_the_same(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, method: str, trouble: str
) -> None:
    bushy(bench)
    index = bench.backup("A")
    asker, plain = os.getpid(), getattr(Placer, method)

    def troubled(placer: Placer, entry: int) -> object:
        done = plain(placer, entry)
        if os.getpid() != asker and entry % 3 == 0:
            if trouble == "fails":
                raise OSError("no luck here")
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    before = tree_state(bench.scratch)
    monkeypatch.setattr(Placer, method, troubled)
    assert tree_state(bench.restore(index)) == before


@pytest.mark.parametrize("count", [1, 2, 7, 16, 500])
def test_no_share_has_a_directory_that_another_one_lies_in(bench: Bench, count: int) -> None:
    bushy(bench)
    index = bench.backup("A")
    entries = index.of_kind(DIRECTORY)
    above, shares = directories._shared_out(index, entries, count)
    assert sorted([*above, *(entry for share in shares for entry in share)]) == list(entries)
    share_of = {index.path(entry): number for number, share in enumerate(shares) for entry in share}
    for path, number in share_of.items():
        parent = path.rpartition(b"/")[0]
        assert share_of.get(parent, number) == number
    for share in shares:
        assert share == sorted(share, key=index.group_at)
