"""What is done at the same time comes back as it is done, and an error is not lost."""

from __future__ import annotations

import threading

import pytest

from scratchflow.process.parallel import as_done


def test_all_are_under_way_at_once() -> None:
    """Each waits for the other: one after the other, neither would end."""
    meeting = threading.Barrier(2, timeout=60)
    done = dict(as_done({"a": meeting.wait, "b": meeting.wait}))
    assert sorted(done) == ["a", "b"]


def test_the_quick_one_is_there_before_the_slow_one() -> None:
    may_end = threading.Event()
    names = []
    for name, _ in as_done({"slow": lambda: may_end.wait(60), "quick": lambda: True}):
        names.append(name)
        may_end.set()
    assert names == ["quick", "slow"]


def test_an_error_is_raised_and_the_others_are_not_waited_for() -> None:
    may_end = threading.Event()

    def fails() -> bool:
        raise ValueError("met")

    with pytest.raises(ValueError, match="met"):
        dict(as_done({"slow": lambda: may_end.wait(60), "fails": fails}))
    assert not may_end.is_set()
    may_end.set()


def test_nothing_to_do_is_nothing_done() -> None:
    assert list(as_done({})) == []
