"""Finds out what has to be done to a workspace so that it equals a snapshot. Changes nothing."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

import msgspec

from scratchflow.archive.compare.columns import Column, differences
from scratchflow.archive.compare.match import Comparison, symlinks_within
from scratchflow.archive.compare.plan import Plan, plan
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.scan.scan import ScannedTree, Warn
from scratchflow.archive.tree.chunks import Chunks, OlderFile
from scratchflow.archive.tree.index import DIGEST_BYTES, Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, Tree, is_same_mode


def _entries() -> array[int]:
    return array("I")


class Delta(msgspec.Struct):
    """What has to be done to a scanned workspace so that it equals an index.

    Entries are those of the wanted index, except for `remove`, `clear` and `over`, which are of
    the scan.
    """

    files: array[int] = msgspec.field(default_factory=_entries)  # content to be written
    metadata: array[int] = msgspec.field(default_factory=_entries)  # mode and mtime alone
    directories: array[int] = msgspec.field(default_factory=_entries)  # to be made
    symlinks: array[int] = msgspec.field(default_factory=_entries)
    hardlinks: array[int] = msgspec.field(default_factory=_entries)
    clear: array[int] = msgspec.field(default_factory=_entries)  # in the way: removed first
    remove: array[int] = msgspec.field(default_factory=_entries)  # not wanted: removed last
    # What lies at a path that will be written, and wanted entries that nothing lies at.
    over: array[int] = msgspec.field(default_factory=_entries)
    absent: array[int] = msgspec.field(default_factory=_entries)
    # (wanted entry, scanned entry, how many): the same paths and kinds on both sides.
    pairs: list[tuple[int, int, int]] = msgspec.field(default_factory=list)
    # Of those `files` that lie on disk in an older version, cut into chunks like the wanted one.
    older: dict[int, OlderFile] = msgspec.field(default_factory=dict)

    def __bool__(self) -> bool:
        parts = (self.files, self.metadata, self.directories, self.symlinks, self.hardlinks)
        return any(len(part) for part in (*parts, self.clear, self.remove))


def find_delta(
    scanned: ScannedTree,
    base: Index | None,
    cache: ScanCache | None,
    wanted: Index,
    warn: Warn,
    planned: Plan | None = None,
) -> Delta:
    """Compares the workspace with `wanted`, by way of the snapshot it is known to equal or be near.

    `planned` is how that snapshot and the scan compare, if that is known already.

    Content is the same only if it can be shown: the file is as it was in `base` (through the
    cache), and `base` and `wanted` have the same digest or the same place for it.
    """
    if planned is None and base:
        planned = plan(scanned, base, cache, warn=warn)
    return _Finder(scanned, wanted, _Known(scanned, base, planned, wanted)).run()


class _Known:
    """Which scanned files are known to hold which content."""

    def __init__(
        self, scanned: ScannedTree, base: Index | None, planned: Plan | None, wanted: Index
    ) -> None:
        self.base = base
        self.wanted = wanted
        self.found = found = planned.found if planned else None
        # Of those scanned entries that have any; what the base says unless the file says otherwise.
        self.xattrs: dict[int, dict[bytes, bytes]] = {}
        if base and planned:
            self.xattrs = {**_of_scanned(base.xattrs, planned.found), **planned.xattrs}
        # By scanned entry, zeros where nothing is known or the digests cannot be compared.
        self.digests = bytearray(DIGEST_BYTES * len(scanned))
        if base is None or found is None or base.seed != wanted.seed:
            return
        for entry, known, count in found.runs:
            self.digests[entry * DIGEST_BYTES : (entry + count) * DIGEST_BYTES] = base.digest[
                known * DIGEST_BYTES : (known + count) * DIGEST_BYTES
            ]

    def holds(self, entry: int, wanted_entry: int) -> bool:
        """Whether the file on disk has the wanted content."""
        base, wanted = self.base, self.wanted
        base_entry = self.found.known_entry(entry) if self.found else None
        if base is None or base_entry is None:
            return False
        if base.size[base_entry] != wanted.size[wanted_entry]:
            return False
        same_holes = base.sparse.get(base_entry) == wanted.sparse.get(wanted_entry)
        if same_holes and base.place(base_entry) == wanted.place(wanted_entry):
            return True
        same_seed = base.seed == wanted.seed
        return same_seed and base.digest_of(base_entry) == wanted.digest_of(wanted_entry)

    def chunks_of(self, entry: int) -> Chunks | None:
        """The chunks of a file on disk, if they can be compared with wanted ones. None of a file with holes."""
        base = self.base
        base_entry = self.found.known_entry(entry) if self.found else None
        if base is None or base_entry is None or base.seed != self.wanted.seed:
            return None
        return None if base_entry in base.sparse else base.chunks.get(base_entry)


class _Finder:
    """Walks both trees side by side; where names are the same, it compares whole columns."""

    def __init__(self, scanned: ScannedTree, wanted: Index, known: _Known) -> None:
        self.scanned = scanned
        self.wanted = wanted
        self.known = known
        self.delta = Delta()
        self.kinds = scanned.kinds(), wanted.kinds()
        self.columns: list[tuple[Column, Column, int]] = [
            (scanned.mode, wanted.mode, scanned.mode.itemsize),
            (scanned.mtime_ns, wanted.mtime_ns, scanned.mtime_ns.itemsize),
            (scanned.size, wanted.size, scanned.size.itemsize),
            (known.digests, wanted.digest, DIGEST_BYTES),
        ]

    def run(self) -> Delta:
        scanned, wanted = self.scanned, self.wanted
        if scanned.children == wanted.children and self._is_same_shape(0, len(scanned), 0):
            self._compare_alike(0, 0, len(scanned))
            return self.delta
        waiting: list[tuple[int, int]] = [(0, 0)]  # (scanned group or -1, wanted group)
        while waiting:
            group, wanted_group = waiting.pop()
            first, end = wanted.first[wanted_group], wanted.first[wanted_group + 1]
            start = scanned.first[group] if group >= 0 else -1
            if (
                group >= 0
                and scanned.children[group] == end - first
                and self._is_same_shape(start, start + end - first, first)
            ):
                self._compare_alike(start, first, end - first)
                inside = scanned.subdirectories(group)[1], wanted.subdirectories(wanted_group)[1]
                waiting.extend(zip(*inside, strict=True))
            else:
                waiting.extend(self._merge(group, wanted_group))
        return self.delta

    def _is_same_shape(self, first: int, end: int, wanted_first: int) -> bool:
        """Whether two ranges of the same length have the same names, and the same kinds."""
        scanned, wanted = self.scanned, self.wanted
        wanted_end = wanted_first + end - first
        if len(wanted) < wanted_end:
            return False
        kinds, wanted_kinds = self.kinds
        same_kinds = kinds[first:end] == wanted_kinds[wanted_first:wanted_end]
        names = scanned.names.packed(first, end)
        return same_kinds and names == wanted.names.packed(wanted_first, wanted_end)

    def _compare_alike(self, first: int, wanted_first: int, count: int) -> None:
        """Two ranges with the same names and kinds: looks closely only at what differs."""
        scanned, wanted = self.scanned, self.wanted
        self.delta.pairs.append((wanted_first, first, count))
        differing: set[int] = set()
        for ours, theirs, width in self.columns:
            differing.update(differences(ours, theirs, width, (first, wanted_first, count)))
        ours_links = symlinks_within(scanned, first, first + count)
        theirs_links = symlinks_within(wanted, wanted_first, wanted_first + count)
        if scanned.targets.packed(*ours_links) != wanted.targets.packed(*theirs_links):
            differing.update(entry - first for entry in scanned.symlinks[slice(*ours_links)])
        differing.update(_within(self.known.xattrs, first, count))
        differing.update(_within(wanted.xattrs, wanted_first, count))
        if scanned.hardlinks or wanted.hardlinks:
            differing.update(_within(scanned.hardlinks, first, count))
            differing.update(_within(wanted.hardlinks, wanted_first, count))
        for offset in sorted(differing):
            self._compare_one(first + offset, wanted_first + offset)

    def _merge(self, group: int, wanted_group: int) -> Iterator[tuple[int, int]]:
        """Pairs entries by name; yields the pairs of directories to go on with."""
        scanned, wanted, delta = self.scanned, self.wanted, self.delta
        on_disk = _by_name(scanned, group) if group >= 0 else {}
        for name, wanted_entry in _by_name(wanted, wanted_group).items():
            entry = on_disk.pop(name, None)
            stays = False
            if entry is None:
                self._want(wanted_entry)
                delta.absent.append(wanted_entry)
            else:
                stays = self._compare_one(entry, wanted_entry)
                if stays:
                    delta.pairs.append((wanted_entry, entry, 1))
            if wanted.mode[wanted_entry] & KIND_MASK == DIRECTORY:
                below = scanned.group_at(entry) if stays and entry is not None else -1
                yield below, wanted.group_at(wanted_entry)
        delta.remove.extend(on_disk.values())

    def _want(self, entry: int) -> None:
        wanted, delta = self.wanted, self.delta
        kind = wanted.mode[entry] & KIND_MASK
        if kind == DIRECTORY:
            delta.directories.append(entry)
        elif kind != REGULAR:
            delta.symlinks.append(entry)
        elif entry in wanted.hardlinks:
            delta.hardlinks.append(entry)
        else:
            delta.files.append(entry)

    def _replace(self, entry: int, wanted_entry: int) -> None:
        self.delta.over.append(entry)
        self._want(wanted_entry)

    def _compare_one(self, entry: int, wanted_entry: int) -> bool:
        """Notes what one path needs; returns whether both are of one kind."""
        scanned, wanted, delta = self.scanned, self.wanted, self.delta
        kind = scanned.mode[entry] & KIND_MASK
        if kind != wanted.mode[wanted_entry] & KIND_MASK:
            if kind == DIRECTORY or wanted.mode[wanted_entry] & KIND_MASK == DIRECTORY:
                delta.clear.append(entry)
                self._want(wanted_entry)
            else:
                self._replace(entry, wanted_entry)
            return False
        same_time = scanned.mtime_ns[entry] == wanted.mtime_ns[wanted_entry]
        same_mode = is_same_mode(scanned.mode[entry], wanted.mode[wanted_entry])
        xattrs = self.known.xattrs.get(entry, {})
        same_metadata = same_time and same_mode and xattrs == wanted.xattrs.get(wanted_entry, {})
        if kind == DIRECTORY:
            if not same_metadata:
                delta.metadata.append(wanted_entry)
        elif kind == REGULAR:
            self._compare_files(entry, wanted_entry, same_metadata=same_metadata)
        elif scanned.target(entry) != wanted.target(wanted_entry) or not same_time:
            self._replace(entry, wanted_entry)
        return True

    def _compare_files(self, entry: int, wanted_entry: int, *, same_metadata: bool) -> None:
        scanned, wanted = self.scanned, self.wanted
        linked = entry in scanned.hardlinks or wanted_entry in wanted.hardlinks
        relink = linked and not _same_link(scanned, wanted, entry, wanted_entry)
        if relink or not self.known.holds(entry, wanted_entry):
            self._replace(entry, wanted_entry)
            self._note_older(entry, wanted_entry)
        elif not same_metadata and wanted_entry not in wanted.hardlinks:
            self.delta.metadata.append(wanted_entry)

    def _note_older(self, entry: int, wanted_entry: int) -> None:
        scanned, wanted = self.scanned, self.wanted
        if wanted_entry not in wanted.chunks or wanted_entry in wanted.sparse:
            return
        chunks = self.known.chunks_of(entry)
        if chunks and wanted_entry not in wanted.hardlinks:
            older = OlderFile(chunks, scanned.inode[entry], scanned.ctime_ns[entry])
            self.delta.older[wanted_entry] = older


def _within(entries: Iterable[int], first: int, count: int) -> Iterator[int]:
    return (entry - first for entry in entries if first <= entry < first + count)


def _of_scanned(
    xattrs: dict[int, dict[bytes, bytes]], found: Comparison
) -> dict[int, dict[bytes, bytes]]:
    """Attributes by scanned entry instead of by the index's."""
    known = sorted(xattrs)
    moved = {}
    for entry, start, count in found.runs if known else ():
        for one in known[bisect_left(known, start) : bisect_left(known, start + count)]:
            moved[entry + one - start] = xattrs[one]
    return moved


def _by_name(tree: Tree, group: int) -> dict[bytes, int]:
    first, end = tree.first[group], tree.first[group + 1]
    return dict(zip(tree.names.slice(first, end), range(first, end), strict=True))


def _same_link(scanned: ScannedTree, wanted: Index, entry: int, wanted_entry: int) -> bool:
    first, wanted_first = scanned.hardlinks.get(entry), wanted.hardlinks.get(wanted_entry)
    if first is None or wanted_first is None:
        return False
    return scanned.path(first) == wanted.path(wanted_first)
