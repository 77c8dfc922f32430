"""Finds out what has to be done to a workspace so that it equals a snapshot. Changes nothing."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from scratchflow.archive.cache import ScanCache
from scratchflow.archive.index import Index
from scratchflow.archive.planning import plan
from scratchflow.archive.scan import ScannedTree, Warn
from scratchflow.archive.tree import DIRECTORY, KIND_MASK, REGULAR, Tree


@dataclass
class Delta:
    """What has to be done to a scanned workspace so that it equals an index.

    Entries are those of the wanted index, except for `remove` and `clear`, which are of the scan.
    """

    files: array[int] = field(default_factory=lambda: array("I"))  # content to be written
    metadata: array[int] = field(default_factory=lambda: array("I"))  # mode and mtime alone
    directories: array[int] = field(default_factory=lambda: array("I"))  # to be made
    symlinks: array[int] = field(default_factory=lambda: array("I"))
    hardlinks: array[int] = field(default_factory=lambda: array("I"))
    clear: array[int] = field(default_factory=lambda: array("I"))  # in the way: removed first
    remove: array[int] = field(default_factory=lambda: array("I"))  # not wanted: removed last

    def __bool__(self) -> bool:
        return any(len(part) for part in vars(self).values())


def find_delta(
    scanned: ScannedTree, base: Index | None, cache: ScanCache | None, wanted: Index, warn: Warn
) -> Delta:
    """Compares the workspace with `wanted`, by way of the snapshot it is known to equal or be near.

    Content is the same only if it can be shown: the file is as it was in `base` (through the
    cache), and `base` and `wanted` have the same digest or the same place for it.
    """
    known = _Known(scanned, base, cache, wanted, warn)
    delta = Delta()
    _walk(scanned, wanted, known, delta)
    return delta


class _Known:
    """Which scanned files are known to hold which content."""

    def __init__(
        self,
        scanned: ScannedTree,
        base: Index | None,
        cache: ScanCache | None,
        wanted: Index,
        warn: Warn,
    ) -> None:
        self.base = base
        self.wanted = wanted
        self.found = plan(scanned, base, cache, warn=warn).found if base else None

    def holds(self, entry: int, wanted_entry: int) -> bool:
        """Whether the file on disk has the wanted content."""
        base, wanted = self.base, self.wanted
        base_entry = self.found.known_entry(entry) if self.found else None
        if base is None or base_entry is None:
            return False
        if base.size[base_entry] != wanted.size[wanted_entry]:
            return False
        if base.place(base_entry) == wanted.place(wanted_entry):
            return True
        same_seed = base.seed == wanted.seed
        return same_seed and base.digest_of(base_entry) == wanted.digest_of(wanted_entry)


def _walk(scanned: ScannedTree, wanted: Index, known: _Known, delta: Delta) -> None:
    """Walks both trees side by side from scratch down."""
    waiting: list[tuple[int, int]] = [(0, 0)]  # (scanned group or -1, wanted group)
    while waiting:
        group, wanted_group = waiting.pop()
        on_disk = _by_name(scanned, group) if group >= 0 else {}
        for name, wanted_entry in _by_name(wanted, wanted_group).items():
            entry = on_disk.pop(name, None)
            if entry is not None:
                entry = _compare_one(scanned, wanted, entry, wanted_entry, known, delta)
            else:
                _want(wanted, wanted_entry, delta)
            if wanted.mode[wanted_entry] & KIND_MASK == DIRECTORY:
                below = -1 if entry is None else scanned.group_at(entry)
                waiting.append((below, wanted.group_at(wanted_entry)))
        delta.remove.extend(on_disk.values())


def _by_name(tree: Tree, group: int) -> dict[bytes, int]:
    first, end = tree.first[group], tree.first[group + 1]
    return dict(zip(tree.names.slice(first, end), range(first, end), strict=True))


def _want(wanted: Index, entry: int, delta: Delta) -> None:
    kind = wanted.mode[entry] & KIND_MASK
    if kind == DIRECTORY:
        delta.directories.append(entry)
    elif kind != REGULAR:
        delta.symlinks.append(entry)
    elif entry in wanted.hardlinks:
        delta.hardlinks.append(entry)
    else:
        delta.files.append(entry)


def _compare_one(
    scanned: ScannedTree, wanted: Index, entry: int, wanted_entry: int, known: _Known, delta: Delta
) -> int | None:
    """Notes what one path needs; returns the scanned entry if it stays a directory."""
    kind = scanned.mode[entry] & KIND_MASK
    if kind != wanted.mode[wanted_entry] & KIND_MASK:
        if kind == DIRECTORY or wanted.mode[wanted_entry] & KIND_MASK == DIRECTORY:
            delta.clear.append(entry)
        _want(wanted, wanted_entry, delta)
        return None
    same_time = scanned.mtime_ns[entry] == wanted.mtime_ns[wanted_entry]
    same_metadata = same_time and scanned.mode[entry] == wanted.mode[wanted_entry]
    if kind == DIRECTORY:
        if not same_metadata:
            delta.metadata.append(wanted_entry)
        return entry
    if kind != REGULAR:
        if scanned.target(entry) != wanted.target(wanted_entry) or not same_time:
            delta.symlinks.append(wanted_entry)
        return None
    _compare_files(scanned, wanted, entry, wanted_entry, known, delta)
    return None


def _compare_files(
    scanned: ScannedTree, wanted: Index, entry: int, wanted_entry: int, known: _Known, delta: Delta
) -> None:
    same_metadata = (scanned.mode[entry], scanned.mtime_ns[entry]) == (
        wanted.mode[wanted_entry],
        wanted.mtime_ns[wanted_entry],
    )
    linked = entry in scanned.hardlinks or wanted_entry in wanted.hardlinks
    relink = linked and not _same_link(scanned, wanted, entry, wanted_entry)
    if relink or not known.holds(entry, wanted_entry):
        _want(wanted, wanted_entry, delta)
    elif not same_metadata and wanted_entry not in wanted.hardlinks:
        delta.metadata.append(wanted_entry)


def _same_link(scanned: ScannedTree, wanted: Index, entry: int, wanted_entry: int) -> bool:
    first, wanted_first = scanned.hardlinks.get(entry), wanted.hardlinks.get(wanted_entry)
    if first is None or wanted_first is None:
        return False
    return scanned.path(first) == wanted.path(wanted_first)
