"""What is done at the same time comes back as it is done, and an error is not lost."""

from __future__ import annotations

import threading

import pytest

from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.process.parallel import EachInThread, Meanwhile, as_done


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


def test_it_goes_on_beside_whoever_asked() -> None:
    told, heard = threading.Event(), threading.Event()

    def find() -> str:
        heard.set()
        assert told.wait(30)
        return "found"

    answer = Meanwhile(find, "look")
    assert heard.wait(30)
    told.set()
    assert answer.result() == "found"


def test_an_error_is_raised_where_the_answer_is_wanted() -> None:
    def find() -> str:
        raise KeyError("gone")

    answer = Meanwhile(find, "look")
    for _ in range(2):
        with pytest.raises(KeyError, match="gone"):
            answer.result()


def test_without_a_thread_it_is_found_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert Meanwhile(lambda: "found", "look").result() == "found"


def test_what_fails_for_one_stops_no_other_and_all_keep_their_order() -> None:
    meeting = threading.Barrier(3, timeout=60)

    def do(name: str) -> str:
        meeting.wait()
        if name == "b":
            raise AllocationMissing(profile=name)
        return name.upper()

    each = EachInThread(["c", "b", "a"], do)
    each.wait()
    assert list(each.done.items()) == [("c", "C"), ("a", "A")]
    assert list(each.failed) == ["b"]


def test_a_bug_in_one_of_them_is_not_lost() -> None:
    def do(name: str) -> str:
        raise KeyError(name)

    each = EachInThread(["a"], do)
    with pytest.raises(KeyError):
        each.wait()
