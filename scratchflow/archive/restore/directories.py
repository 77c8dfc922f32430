"""Makes the directories of a restore first, and gives them their modes and times last.

Where nobody else is at work in the target, processes help: what takes long is the file system's part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from scratchflow.archive.restore.placer import Placer, Placing
from scratchflow.archive.tree.tree import Tree
from scratchflow.archive.workers.helpers import Helpers
from scratchflow.archive.workers.queue import Shares

_MAX_HELPERS = 7
# Fewer than this are made before a process would have begun.
_LEAST_EACH = 100
# Shares for each process: one that is slower than the others does fewer.
_SHARES_EACH = 8


class Directories:
    """The directories among the entries of an index, in a target of one's own or of others."""

    def __init__(
        self, placing: Placing, placer: Placer, entries: Sequence[int], *, processes: int
    ) -> None:
        """`entries` ascend. More than one of `processes` is for a target that is nobody else's."""
        self._placing = placing
        self._placer = placer
        self._helpers = min(processes - 1, _MAX_HELPERS, len(entries) // _LEAST_EACH - 1)
        self._entries = entries
        self._above: list[int] = []
        self._shares: list[list[int]] = []
        if self._helpers > 0:
            count = (self._helpers + 1) * _SHARES_EACH
            self._above, self._shares = _shared_out(placing.index, entries, count)
        self._made: list[int] = []

    def make(self) -> None:
        """All of them, open to us alone. One that is there stays."""
        if self._helpers <= 0:
            self._made = list(filter(self._placer.directory, self._entries))
            return
        for entry in self._above:
            self._placer.directory(entry)
        self._in_shares(lambda placer, share: _each(placer.directory, share))

    def finish(self) -> None:
        """Modes, attributes and times, once nothing inside changes any more, deepest first."""
        if self._helpers <= 0:
            _each(self._placer.directory_metadata, reversed(self._made))
            return
        self._in_shares(lambda placer, share: _each(placer.directory_metadata, reversed(share)))
        _each(self._placer.directory_metadata, reversed(self._above))

    def _in_shares(self, do: Callable[[Placer, list[int]], None]) -> None:
        """Each share once. What a helper could not do is done here, and fails here if it must."""

        def work(number: int) -> None:
            placer = self._placing.placer()  # it warns of nothing in a target of one's own
            try:
                do(placer, self._shares[number])
            finally:
                placer.close()

        numbers = Shares(len(self._shares))
        helpers = Helpers(numbers, work, self._helpers, (self._placing.target,))
        try:
            for _ in helpers.all_results():
                pass
        finally:
            helpers.close()


def _each(do: Callable[[int], object], entries: Iterable[int]) -> None:
    for entry in entries:
        do(entry)


def _shared_out(
    tree: Tree, entries: Sequence[int], count: int
) -> tuple[list[int], list[list[int]]]:
    """Those that directories of several shares lie in, and the others in so many shares.

    Both depth first: what is beneath a directory follows it, so that a share is a stretch of the tree, and only
    directories above its first one have anything in another.
    """
    groups = sorted(map(tree.group_at, entries))
    each = -(-len(groups) // count)
    above: set[int] = set()
    for first in groups[::each]:
        group = first
        while group and group not in above:
            above.add(group)
            group = tree.parent_group(group)
    entry_of = tree.entry_of
    stretches = [groups[at : at + each] for at in range(0, len(groups), each)]
    shares = [[entry_of[group] for group in stretch if group not in above] for stretch in stretches]
    chosen = set(entries)
    return [entry_of[group] for group in sorted(above) if entry_of[group] in chosen], shares
