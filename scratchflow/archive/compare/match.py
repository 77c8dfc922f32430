"""Finds out which entries of a scanned tree an index already holds. Reads no file.

A file's content is believed unread in one case only: the scan cache has the same inode and change
time for this very path. Every other file of the same size is a suspect, which has to be read.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

import msgspec

from scratchflow.archive.compare.columns import differences
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree.index import RECHECK, Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK, is_same_mode

_FLAG_OF_KIND = bytes(RECHECK * (kind in (REGULAR >> 12, DIRECTORY >> 12)) for kind in range(256))
_COMPARED = ("mode", "size", "mtime_ns")


class Comparison(msgspec.Struct):
    """Every scanned entry is in exactly one of `runs`, `suspects`, `new`."""

    # (scanned entry, index entry, how many): content is what the index says. `plan` sorts them.
    runs: list[tuple[int, int, int]] = msgspec.field(default_factory=list)
    # (scanned entry, index entry): same path and size, but only reading can tell.
    suspects: list[tuple[int, int]] = msgspec.field(default_factory=list)
    # (scanned entry, index entry): directories in `runs` whose attributes may be others now.
    directories: list[tuple[int, int]] = msgspec.field(default_factory=list)
    new: array[int] = msgspec.field(
        default_factory=lambda: array("I")
    )  # no such path, or other content
    replaced: set[int] = msgspec.field(
        default_factory=set
    )  # those of `new` whose path the index has
    gone: array[int] = msgspec.field(
        default_factory=lambda: array("I")
    )  # index entries without a path now
    # Scanned entries in `runs` with another mode or mtime. A directory's mtime does not count:
    # it changes with every passing temporary file and alone is not worth a snapshot.
    touched: array[int] = msgspec.field(default_factory=lambda: array("I"))

    def add_run(self, entry: int, known: int, count: int) -> None:
        """Notes known content, joined to the run before where they meet."""
        if not count:
            return
        if self.runs:
            last, last_known, length = self.runs[-1]
            if last + length == entry and last_known + length == known:
                self.runs[-1] = (last, last_known, length + count)
                return
        self.runs.append((entry, known, count))

    def known_entry(self, entry: int) -> int | None:
        """The index entry that holds a scanned entry's content; None when there is none."""
        position = bisect_right(self.runs, (entry, 1 << 62, 0)) - 1
        if position < 0:
            return None
        start, known, count = self.runs[position]
        return known + entry - start if entry < start + count else None


def compare(scanned: ScannedTree, index: Index, cache: ScanCache | None) -> Comparison:
    """Compares whole columns where all paths are the same, and else group by group."""
    return _Comparer(scanned, index, cache).run()


class _Comparer:
    def __init__(self, scanned: ScannedTree, index: Index, cache: ScanCache | None) -> None:
        self.scanned = scanned
        self.index = index
        self.cache = cache
        self.flags = cache.flags if cache else _all_flagged(index)
        self.found = Comparison()
        self.known_groups = array("i", [-1]) * scanned.group_count
        self.columns: list[tuple[array[int], array[int]]] = [
            (getattr(scanned, name), getattr(index, name)) for name in _COMPARED
        ]
        if cache:
            self.columns += [(scanned.inode, cache.inode), (scanned.ctime_ns, cache.ctime_ns)]

    def run(self) -> Comparison:
        if self.scanned.has_shape_of(self.index):
            self._compare_alike()
            return self.found
        self.known_groups[0] = 0
        for group in range(self.scanned.group_count):
            known = self.known_groups[group]
            if known < 0:
                first, end = self.scanned.first[group], self.scanned.first[group + 1]
                self.found.new.extend(range(first, end))
            else:
                self._compare_groups(group, known)
        return self.found

    def _compare_alike(self) -> None:
        """The same paths, of the same kinds: looks closely only at what differs, or is flagged."""
        differing = {entry for entry, flag in enumerate(self.flags) if flag}
        count = len(self.scanned)
        for ours, theirs in self.columns:
            differing.update(differences(ours, theirs, ours.itemsize, (0, 0, count)))
        done = 0
        for entry in sorted(differing):
            self.found.add_run(done, done, entry - done)
            self._compare_entries(entry, entry)
            done = entry + 1
        self.found.add_run(done, done, count - done)

    def _compare_groups(self, group: int, known: int) -> None:
        first, end = self.scanned.first[group], self.scanned.first[group + 1]
        known_first, known_end = self.index.first[known], self.index.first[known + 1]
        names = self.scanned.names.packed(first, end)
        same_names = names == self.index.names.packed(known_first, known_end)
        if same_names and self._all_equal(first, end, known_first, known_end):
            self.found.add_run(first, known_first, end - first)
            self._map_directories(group, known)
        elif same_names:
            for offset in range(end - first):
                self._compare_entries(first + offset, known_first + offset)
        else:
            self._merge(range(first, end), range(known_first, known_end))

    def _all_equal(self, first: int, end: int, known_first: int, known_end: int) -> bool:
        if any(self.flags[known_first:known_end]) or not self._targets_equal(
            first, end, known_first, known_end
        ):
            return False
        return all(left[first:end] == right[known_first:known_end] for left, right in self.columns)

    def _targets_equal(self, first: int, end: int, known_first: int, known_end: int) -> bool:
        ours = symlinks_within(self.scanned, first, end)
        theirs = symlinks_within(self.index, known_first, known_end)
        return self.scanned.targets.packed(*ours) == self.index.targets.packed(*theirs)

    def _map_directories(self, group: int, known: int) -> None:
        groups = self.scanned.subdirectories(group)[1]
        known_groups = self.index.subdirectories(known)[1]
        for inside, known_inside in zip(groups, known_groups, strict=True):
            self.known_groups[inside] = known_inside

    def _merge(self, ours: range, theirs: range) -> None:
        """Pairs entries by name; what is left over on either side is new or gone."""
        known_names = self.index.names.slice(theirs.start, theirs.stop)
        known_by_name = dict(zip(known_names, theirs, strict=True))
        names = self.scanned.names.slice(ours.start, ours.stop)
        for entry, name in zip(ours, names, strict=True):
            known = known_by_name.pop(name, None)
            if known is None:
                self.found.new.append(entry)
            else:
                self._compare_entries(entry, known)
        for known in known_by_name.values():
            self._gone(known)

    def _compare_entries(self, entry: int, known: int) -> None:
        mode = self.scanned.mode[entry]
        known_mode = self.index.mode[known]
        kind = mode & KIND_MASK
        if kind != known_mode & KIND_MASK:
            self._replaced(entry)
            self._gone_inside(known)
            return
        if kind == REGULAR:
            self._compare_files(entry, known)
            return
        if kind == SYMLINK and self.scanned.target(entry) != self.index.target(known):
            self._replaced(entry)
            return
        if kind == DIRECTORY:
            self.known_groups[self.scanned.group_at(entry)] = self.index.group_at(known)
            if not self._is_vouched_for(entry, known):
                self.found.directories.append((entry, known))
        self.found.add_run(entry, known, 1)
        moved = kind == SYMLINK and self.scanned.mtime_ns[entry] != self.index.mtime_ns[known]
        if moved or not is_same_mode(mode, known_mode):
            self.found.touched.append(entry)

    def _compare_files(self, entry: int, known: int) -> None:
        scanned, index = self.scanned, self.index
        if scanned.size[entry] != index.size[known]:
            self._replaced(entry)
            return
        if not self._is_vouched_for(entry, known):
            self.found.suspects.append((entry, known))
            return
        self.found.add_run(entry, known, 1)
        if not is_same_mode(scanned.mode[entry], index.mode[known]):
            self.found.touched.append(entry)

    def _is_vouched_for(self, entry: int, known: int) -> bool:
        """Whether the cache shows that nobody has written to this entry since it was read."""
        scanned, cache = self.scanned, self.cache
        return (
            cache is not None
            and not self.flags[known]
            and scanned.mtime_ns[entry] == self.index.mtime_ns[known]
            and scanned.inode[entry] == cache.inode[known]
            and scanned.ctime_ns[entry] == cache.ctime_ns[known]
        )

    def _replaced(self, entry: int) -> None:
        self.found.new.append(entry)
        self.found.replaced.add(entry)

    def _gone(self, known: int) -> None:
        self.found.gone.append(known)
        self._gone_inside(known)

    def _gone_inside(self, known: int) -> None:
        """Everything beneath a directory that is no longer one is gone as well."""
        if self.index.mode[known] & KIND_MASK != DIRECTORY:
            return
        waiting = [self.index.group_at(known)]
        while waiting:
            group = waiting.pop()
            self.found.gone.extend(range(self.index.first[group], self.index.first[group + 1]))
            waiting.extend(self.index.subdirectories(group)[1])


def _all_flagged(index: Index) -> array[int]:
    """Flags for a comparison without a cache: size and mtime prove nothing about content.

    Symlinks need none: the scan has read their targets.
    """
    return array("B", index.kinds().translate(_FLAG_OF_KIND))


def symlinks_within(tree: ScannedTree | Index, first: int, end: int) -> tuple[int, int]:
    """The range of `tree.symlinks` that lies in a range of entries."""
    low = bisect_left(tree.symlinks, first)
    return low, bisect_left(tree.symlinks, end, low)
