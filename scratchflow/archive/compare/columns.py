"""Columns of two trees, compared many entries at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Union

Column = Union["array[int]", bytes, bytearray]
# So few are compared one by one: to halve them further takes longer.
_ONE_BY_ONE = 8


def differences(
    ours: Column, theirs: Column, width: int, where: tuple[int, int, int]
) -> Iterator[int]:
    """Offsets at which two columns differ, found by halving: equal stretches cost one comparison.

    An entry has `width` bytes. `where` is the first entry in ours, the first in theirs, and how many there are.
    """
    first, their_first, count = where
    left = memoryview(ours).cast("B")[first * width : (first + count) * width]
    right = memoryview(theirs).cast("B")[their_first * width : (their_first + count) * width]
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
            start, end = offset * width, (offset + 1) * width
            if left[start:end] != right[start:end]:
                yield offset
