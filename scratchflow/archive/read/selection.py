"""Chooses a part of an index by paths and globs."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from fnmatch import translate
from re import compile as compile_pattern

from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK

_GLOB = frozenset("*?[")


class Selection:
    """Which entries were chosen: `entries[i]` is 1 for each, and for the directories above.

    A pattern without `*`, `?` or `[` is a path from scratch down; a pattern with them is matched
    against the whole path, where `*` also crosses `/`. One that fits nothing there is tried once
    more from the directory `within` down. A directory stands for all it holds.
    `unmatched` are the patterns that chose nothing.
    """

    def __init__(self, index: Index, patterns: Sequence[str], within: str = "") -> None:
        self.entries = bytearray(len(index))
        self.unmatched: list[str] = []
        self._index = index
        for pattern in patterns:
            found = self._matches(pattern.strip("/"))
            if not found and within:
                found = self._matches(posixpath.normpath(f"{within}/{pattern.strip('/')}"))
            if not found:
                self.unmatched.append(pattern)
            for entry in found:
                self._choose(entry)
        self._choose_parents()

    def _matches(self, pattern: str) -> list[int]:
        entry = self._index.find(os.fsencode(pattern))
        if entry is not None:  # a name may itself hold `[` or `*`
            return [entry]
        if not _GLOB.intersection(pattern):
            return []
        matches = compile_pattern(translate(pattern)).fullmatch
        return [
            entry
            for group, prefix in self._index.groups()
            for entry in range(self._index.first[group], self._index.first[group + 1])
            if matches(os.fsdecode(prefix + self._index.names[entry]))
        ]

    def _choose(self, entry: int) -> None:
        index = self._index
        self.entries[entry] = 1
        waiting = [index.group_at(entry)] if index.mode[entry] & KIND_MASK == DIRECTORY else []
        while waiting:
            group = waiting.pop()
            first, end = index.first[group], index.first[group + 1]
            self.entries[first:end] = b"\1" * (end - first)
            waiting.extend(index.subdirectories(group)[1])

    def _choose_parents(self) -> None:
        index = self._index
        for group in range(index.group_count - 1, 0, -1):  # a group's parent always comes before it
            if any(self.entries[index.first[group] : index.first[group + 1]]):
                self.entries[index.entry_of[group]] = 1
