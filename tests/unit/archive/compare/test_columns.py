"""Where two columns differ is found whatever lies before, between and behind."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.archive.compare import columns
from scratchflow.archive.compare.columns import differences

NUMBERS = st.lists(st.integers(0, 3), max_size=100)


@pytest.mark.parametrize("kind", ["B", "H", "Q"])
@given(ours=NUMBERS, theirs=NUMBERS, before=st.integers(0, 5), their_before=st.integers(0, 5))
def test_every_difference_is_found_and_nothing_else(
    kind: str, ours: list[int], theirs: list[int], before: int, their_before: int
) -> None:
    count = min(len(ours), len(theirs))
    left = array(kind, [9] * before + ours)
    right = array(kind, [8] * their_before + theirs)
    found = differences(left, right, left.itemsize, (before, their_before, count))
    assert sorted(found) == [at for at in range(count) if ours[at] != theirs[at]]


def test_entries_of_several_bytes_are_compared_whole() -> None:
    ours, theirs = bytes(16 * 40), bytearray(16 * 40)
    theirs[16 * 7 + 15] = theirs[16 * 39] = 1
    assert sorted(differences(ours, theirs, 16, (0, 0, 40))) == [7, 39]


@pytest.mark.parametrize("at_once", [1, 7, 40, 41])
def test_long_columns_are_compared_a_stretch_at_a_time(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(columns, "_AT_ONCE", at_once)
    ours = array("Q", range(42))
    theirs = array("Q", range(42))
    for at in (1, 6, 7, 8, 40, 41):
        theirs[at] = 99
    assert sorted(differences(ours, theirs, 8, (1, 1, 41))) == [0, 5, 6, 7, 39, 40]
