"""A walk in rounds finds what one process finds, whatever the tree is like."""

from __future__ import annotations

import sys

import pytest

from scratchflow.archive.scan import shared_walk
from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.scan import Scan
from scratchflow.archive.workers.queue import MAX_SHARES, Shares
from tests.unit.archive.conftest import Bench
from tests.unit.archive.scan.conftest import bushy, content, scan

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="helpers are forked on Linux only")


def test_more_directories_beside_each_other_than_can_be_shared_out_one_by_one(bench: Bench) -> None:
    count = MAX_SHARES + 1
    for number in range(count):
        (bench.work / f"{number}").mkdir(parents=True)
    alone, _ = scan(bench, 0)
    helped, _ = scan(bench, 2)
    assert content(helped) == content(alone)
    assert len(helped) == count + 1


@pytest.mark.parametrize("least", [0, 1, 40])
def test_what_is_shared_out_anew_is_found_once_and_in_order(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    """As if somebody had nothing to do at any moment: everybody stops as early as possible."""
    monkeypatch.setattr(shared_walk, "_LEAST_FOUND", least)
    monkeypatch.setattr(shared_walk, "_ENOUGH", 4)
    monkeypatch.setattr(Shares, "somebody_waits", True)
    bushy(bench)
    deepest = bench.work / "deep"
    for number in range(60):
        deepest /= f"{number}"
        (deepest / "beside" / "inside").mkdir(parents=True)
        (deepest / "beside" / "file").touch()
    alone, warned_alone = scan(bench, 0)
    rounds: list[int] = []
    finish = shared_walk._Round.finish

    def counted(one: shared_walk._Round) -> list[shared_walk.Found]:
        rounds.append(1)
        return finish(one)

    monkeypatch.setattr(shared_walk._Round, "finish", counted)
    helped, warned_helped = scan(bench, 3)
    assert content(helped) == content(alone)
    assert sorted(warned_helped) == sorted(warned_alone)
    assert len(rounds) > 1


def test_the_rest_of_a_root_is_not_left_to_somebody_who_does_not_know_what_it_ignores(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_walk, "_LEAST_FOUND", 0)
    monkeypatch.setattr(shared_walk, "_ENOUGH", 4)
    roots = [f"root-{number}" for number in range(12)]
    for root in roots:
        for directory in ("kept", "ignored"):
            (bench.scratch / root / directory / "inside" / "deeper").mkdir(parents=True)
        (bench.scratch / root / ".scratchignore").write_text("inside/deeper\n/ignored\n")
    found = []
    for helpers in (0, 3):
        with Scan(bench.scratch, roots, IgnoreRules(), helpers) as begun:
            found.append(content(begun.finish(lambda *_: None)))
    assert found[0] == found[1]
    assert b"ignored" not in found[1]["names"]  # type: ignore[operator]
