"""A walk that several processes do together, in rounds.

Directories are shared out until somebody finds none left. Then everybody stops, and what they have not entered
is shared out anew: nobody can tell beforehand which directory holds most of a tree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from scratchflow.archive.scan.part import Part
from scratchflow.archive.scan.walk import Directory, Walk
from scratchflow.archive.workers.helpers import Helpers
from scratchflow.archive.workers.queue import MAX_SHARES, Shares

# How many directories are to be known before help is worth its while, and how many of them are
# listed at most to find so many: a tree may also be one long chain.
_ENOUGH = 64
_MAX_LISTED = 256
# Nobody stops before it has found so many entries: that takes longer than to share out anew.
_LEAST_FOUND = 1000
# After so many rounds the rest is done by one process. Each halves it, or nearly so.
_MAX_ROUNDS = 8

# Of each directory: the columns of what is beneath it, and the paths of what has yet to be entered.
_Results = list[tuple[list[Any], list[bytes]]]


class Found:
    """A directory that was found on the way down, what it holds, and what was found inside."""

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.part: Part | None = None  # of everything beneath, unless `inside` has that
        self.inside: list[Found] = []

    def in_order(self) -> Iterator[Found]:
        """Depth first, as groups follow each other."""
        waiting = [self]
        while waiting:
            found = waiting.pop()
            yield found
            waiting.extend(reversed(found.inside))


class SharedWalk:
    """A walk that has begun, with up to `helpers` other processes; `close` leaves none behind."""

    def __init__(self, walk: Walk, top: Directory, helpers: int) -> None:
        self._walk = walk
        self._count = helpers
        self._top = Found(top)
        self._round = _Round(walk, [self._top], helpers) if helpers else None

    @property
    def processes(self) -> list[int]:
        """Those that take part."""
        return self._round.helpers.processes if self._round else []

    def close(self) -> None:
        """May be called twice."""
        if self._round:
            self._round.helpers.close()

    def parts(self) -> Iterator[Part]:
        """Everything beneath the top, in order."""
        for _ in range(_MAX_ROUNDS):
            if not self._round:
                break
            left = self._round.finish()
            self._round = _Round(self._walk, left, self._count) if left else None
        self.close()
        for found in self._top.in_order():
            part, found.part = found.part, None
            yield self._walk.beneath(found.directory) if part is None else part


class _Round:
    """Some directories, shared out between this process and helpers."""

    def __init__(self, walk: Walk, found: Sequence[Found], helpers: int) -> None:
        self._walk = walk
        waiting = _divided(walk, found)
        each = max(1, -(-len(waiting) // MAX_SHARES))
        self._shares = [waiting[at : at + each] for at in range(0, len(waiting), each)]
        self._numbers = Shares(len(self._shares))
        self.helpers = Helpers(self._numbers, self._dumped, helpers)

    def finish(self) -> list[Found]:
        """Takes part until all shares are taken; returns what is left of them, whoever had it."""
        while (number := self.helpers.next_share()) is not None:
            for found, part, left in self._walked(number):
                found.part, found.inside = part, list(map(Found, left))
        for number, results in self.helpers.results():
            for found, (columns, paths) in zip(self._shares[number], results, strict=False):
                found.part = Part.loaded(columns)
                found.inside = [Found(found.directory.down_to(path)) for path in paths]
        self.helpers.close()
        # Whoever was killed has brought nothing: what it had taken is left as it was.
        return [
            left
            for share in self._shares
            for found in share
            for left in ([found] if found.part is None else found.inside)
        ]

    def _dumped(self, number: int) -> _Results:
        """What a helper brings back for one share."""
        return [
            (part.dumped(), [directory.path for directory in left])
            for _, part, left in self._walked(number)
        ]

    def _walked(self, number: int) -> Iterator[tuple[Found, Part, list[Directory]]]:
        """The directories of one share: what is beneath each, and what has yet to be entered."""
        before = 0

        def is_enough(count: int) -> bool:
            return before + count >= _LEAST_FOUND and self._numbers.somebody_waits

        for found in self._shares[number]:
            if is_enough(0):
                return
            part, left = self._walk.begun_beneath(found.directory, is_enough)
            before += len(part)
            yield found, part, left


def _divided(walk: Walk, found: Sequence[Found]) -> list[Found]:
    """Lists directories until enough of them wait to be entered."""
    waiting = deque(found)
    for _ in range(_MAX_LISTED):
        if not waiting or len(waiting) >= _ENOUGH:
            break
        first = waiting.popleft()
        first.part = walk.only(first.directory)
        inside = reversed(first.directory.waiting)
        first.inside = [Found(first.directory.below(name)) for name in inside]
        first.directory.waiting = []
        waiting.extend(first.inside)
    return list(waiting)
