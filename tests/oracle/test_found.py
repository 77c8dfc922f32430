"""Failures that the oracle found, each as the shortest sequence that showed it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.oracle.changes import Change
from tests.oracle.machine import Oracle


@pytest.fixture
def state() -> Iterator[Oracle]:
    """As hypothesis names it in what it prints."""
    oracle = Oracle()
    yield oracle
    oracle.teardown()


def test_a_restored_snapshot_names_every_root_that_it_holds(state: Oracle) -> None:
    state.begin(first=0, size=1)
    state.also(also=True, there=True)
    state.backup(full=False, message="")
    state.change_and_back_up(change=Change("create"))
    state.also(also=False, there=True)
    state.restore(number=0, replace=False)


def test_equal_files_that_swap_names_keep_their_attributes(state: Oracle) -> None:
    state.begin(first=0, size=0)
    state.change(change=Change("xattr", one=0, other=1))
    state.backup(full=False, message="")
    state.change(change=Change("swap", one=0, other=1))
    state.backup(full=False, message="")


def test_files_on_reused_inodes_are_read(state: Oracle) -> None:
    state.begin(first=0, size=4096)
    state.backup(full=False, message="")
    state.settle()
    state.change(change=Change("unpack_after_rm", one=5, fill=70, size=4096))
    state.backup(full=False, message="")


def test_writes_through_a_mapping_are_saved(state: Oracle) -> None:
    state.begin(first=0, size=4096)
    state.change(change=Change("write_mapped", fill=70))
    state.backup(full=False, message="")
    state.settle()
    state.change(change=Change("write_mapped", fill=69))
    state.backup(full=False, message="")


def test_a_path_is_restored_over_an_excluded_file_without_losing_it(state: Oracle) -> None:
    state.begin(first=0, size=10)
    state.change_and_back_up(change=Change("create", name=b"e.o", size=10))
    state.exclude(patterns=["*.o"])
    state.change_and_back_up(change=Change("create", name=b"e.o", fill=70, size=4096))
    state.world.restore_path(state.world.ids[0], b"work/e.o")


def test_a_path_is_restored_over_an_unreadable_file_without_losing_it(state: Oracle) -> None:
    state.begin(first=0, size=10)
    state.backup(full=False, message="")
    state.changes(changes=[Change("rewrite", fill=80), Change("chmod", other=4)])
    state.world.restore_path(state.world.ids[0], b"work/t0")


def test_an_excluded_file_that_a_restored_snapshot_holds_comes_back_with_it(state: Oracle) -> None:
    state.begin(first=0, size=1)
    state.change_and_back_up(change=Change("create", name=b"a", size=10))
    state.change_and_back_up(change=Change("create", name=b"c", size=10))
    state.exclude(patterns=["a"])
    done = state.world.restore(state.world.ids[0])
    assert done
    assert done.committed_as
    state.exclude(patterns=[])
    state.lose_notes()
    state.world.restore(done.committed_as, replace=True)
    assert (state.world.work / "a").read_bytes() == b"A" * 10
