"""Columns of two trees, compared many entries at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Union

Column = Union["array[int]", bytes, bytearray]
# So few are compared one by one: to halve them further takes longer.
_ONE_BY_ONE = 8
# So many are copied to be compared: what copies take in memory has a bound.
_AT_ONCE = 1 << 16


def differences(
    ours: Column, theirs: Column, width: int, where: tuple[int, int, int]
) -> Iterator[int]:
    """Offsets at which two columns differ, found by halving: equal stretches cost one comparison.

    An entry has `width` bytes. `where` is the first entry in ours, the first in theirs, and how many there are.
    """
    first, their_first, count = where
    left, right = memoryview(ours).cast("B"), memoryview(theirs).cast("B")
    for start in range(0, count, _AT_ONCE):
        stretch = min(_AT_ONCE, count - start)
        # As bytes: those are compared at the speed of memory, and views of it byte by byte.
        here, there = (first + start) * width, (their_first + start) * width
        left_bytes = bytes(left[here : here + stretch * width])
        right_bytes = bytes(right[there : there + stretch * width])
        for offset in _differences(left_bytes, right_bytes, width, stretch):
            yield start + offset


def _differences(left: bytes, right: bytes, width: int, count: int) -> Iterator[int]:
    waiting = [(0, count)]
    while waiting:
        low, high = waiting.pop()
        if left[low * width : high * width] == right[low * width : high * width]:
            continue
        if high - low > _ONE_BY_ONE:
            middle = (low + high) // 2
            waiting += ((low, middle), (middle, high))
            continue
        for offset in range(low, high):
            begin, end = offset * width, (offset + 1) * width
            if left[begin:end] != right[begin:end]:
                yield offset
