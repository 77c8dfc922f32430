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
