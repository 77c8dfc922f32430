"""Chooses a part of a tree by paths and globs."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from fnmatch import translate
from re import compile as compile_pattern

from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, Tree

_GLOB = frozenset("*?[")


def is_pattern(path: str) -> bool:
    """Whether a path may stand for several."""
    return not _GLOB.isdisjoint(path)


class Selection:
    """Which entries were chosen: `entries[i]` is 1 for each, and for the directories above.

    A pattern without `*`, `?` or `[` is a path from scratch down; a pattern with them is matched
    against the whole path, where `*` also crosses `/`. One that fits nothing there is tried once
    more from the directory `within` down. A directory stands for all it holds.
    `matched` are the entries that the patterns name, `unmatched` the patterns that chose nothing.
    """

    def __init__(self, tree: Tree, patterns: Sequence[str], within: str = "") -> None:
        self.entries = bytearray(len(tree))
        self.matched: list[int] = []
        self.unmatched: list[str] = []
        self._tree = tree
        for pattern in patterns:
            found = self._matches(pattern.strip("/"))
            if not found and within:
                found = self._matches(posixpath.normpath(f"{within}/{pattern.strip('/')}"))
            if not found:
                self.unmatched.append(pattern)
            self.matched.extend(found)
            for entry in found:
                self._choose(entry)
        self._choose_parents()

    def _matches(self, pattern: str) -> list[int]:
        entry = self._tree.find(os.fsencode(pattern))
        if entry is not None:  # a name may itself hold `[` or `*`
            return [entry]
        if not is_pattern(pattern):
            return []
        matches = compile_pattern(translate(pattern)).fullmatch
        return [
            entry
            for group, prefix in self._tree.groups()
            for entry in range(self._tree.first[group], self._tree.first[group + 1])
            if matches(os.fsdecode(prefix + self._tree.names[entry]))
        ]

    def _choose(self, entry: int) -> None:
        tree = self._tree
        self.entries[entry] = 1
        waiting = [tree.group_at(entry)] if tree.mode[entry] & KIND_MASK == DIRECTORY else []
        while waiting:
            group = waiting.pop()
            first, end = tree.first[group], tree.first[group + 1]
            self.entries[first:end] = b"\1" * (end - first)
            waiting.extend(tree.subdirectories(group)[1])

    def _choose_parents(self) -> None:
        tree = self._tree
        found = self.entries.rfind(1)
        while found >= 0:
            group = tree.group_of(found)
            if group == 0:
                break
            self.entries[tree.entry_of[group]] = 1  # which always comes before its group
            found = self.entries.rfind(1, 0, tree.first[group])
