"""Decides what a backup has to store: what changed since the parent, and what only moved."""

from __future__ import annotations

import os
from array import array
from collections import defaultdict
from collections.abc import Container

import msgspec

from scratchflow.archive.compare.match import Comparison, compare
from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.files.xattrs import read_xattrs
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.scan.reread import Looker
from scratchflow.archive.scan.scan import ScannedTree, Warn
from scratchflow.archive.tree import chunks
from scratchflow.archive.tree.index import RECHECK, Index
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR, is_same_mode

# A larger file that might be known is stored again without a look, unless it has the mtime of a
# known one: reading it twice would cost more than it could save.
_MAX_LOOK_BYTES = 64 << 20


class Plan(msgspec.Struct):
    """What `write` will do. `unchanged` means: nothing, the parent's snapshot still stands."""

    scanned: ScannedTree
    parent: Index | None
    found: Comparison
    store: array[int]  # entries to write as tar members, ascending
    dropped: set[int]  # entries that cannot be read, already warned about
    xattrs: dict[int, dict[bytes, bytes]]  # of known files whose attributes changed
    seed: int
    full: bool
    changed_files: int
    changed_bytes: int
    gone: int
    unchanged: bool
    # Files that are new at their path, or others there now, with a content that the parent has.
    moved_files: int = 0
    # Everything is stored because that is better, not because nothing else would do.
    is_only_due: bool = False

    def in_full(self) -> Plan:
        """The same plan, but everything is stored."""
        store = _all_but(self.dropped, len(self.scanned))
        return msgspec.structs.replace(
            self, store=store, full=True, unchanged=False, is_only_due=True
        )

    def cache_if_unchanged(self) -> ScanCache | None:
        """A fresh cache for the parent when nothing changed: what was reread need not be again.

        Files that could not be read are flagged: nobody knows whether they hold what the parent has.
        """
        if not self.unchanged or self.parent is None:
            return None
        cache = ScanCache.if_equal(self.scanned, self.parent)
        if cache is not None:
            for entry in self.dropped:
                cache.flags[entry] = RECHECK
        return cache


def plan(
    scanned: ScannedTree,
    parent: Index | None,
    cache: ScanCache | None = None,
    *,
    warn: Warn,
    full: bool = False,
    will_cut: bool = False,
) -> Plan:
    """Compares the tree with the parent's index, and reads what cannot be told otherwise.

    With `full` everything is stored, but the parent still says what changed and lends its seed,
    so that a later delta can compare snapshots across the two. With `will_cut` a file whose chunks the parent lists
    is read once, by whoever cuts it and refers to those chunks, and not here before.
    """
    found = compare(scanned, parent, cache) if parent else _everything_is_new(scanned)
    xattrs: dict[int, dict[bytes, bytes]] = {}
    moved_files = 0
    if parent:
        looker = Looker(scanned, parent.seed)
        look = _LookOnce(parent, skips_chunked=will_cut and not full)
        xattrs = _settle_suspects(found, scanned, parent, looker, look)
        not_there = len(found.new)
        xattrs |= _find_moved(found, scanned, parent, looker, look)
        moved_files = not_there - len(found.new)
        xattrs |= _look_at_directories(found, scanned, parent)
    with scanned.handles() as handles:
        dropped = _unreadable(scanned, found.new, handles, warn)
    changed = found.new
    if dropped:
        changed = array("I", [entry for entry in found.new if entry not in dropped])
    changed_files, changed_bytes = scanned.files_among(changed)
    found.runs.sort()
    same = not (changed or found.touched or found.gone) and _same_links(found, scanned, parent)
    return Plan(
        scanned=scanned,
        parent=parent,
        found=found,
        store=_all_but(dropped, len(scanned)) if full or not parent else changed,
        dropped=dropped,
        xattrs=xattrs,
        seed=parent.seed if parent else int.from_bytes(os.urandom(8), "big"),
        full=full or parent is None,
        changed_files=changed_files,
        changed_bytes=changed_bytes,
        moved_files=moved_files,
        gone=len(found.gone),
        unchanged=same and parent is not None and not full,
    )


def _same_links(found: Comparison, scanned: ScannedTree, parent: Index | None) -> bool:
    """Whether the same names share a file now as then."""
    if parent is None or scanned.hardlinks == parent.hardlinks:
        return True
    links = {
        found.known_entry(entry): found.known_entry(first)
        for entry, first in scanned.hardlinks.items()
    }
    return links == parent.hardlinks


def _everything_is_new(scanned: ScannedTree) -> Comparison:
    return Comparison(new=array("I", range(len(scanned))))


def _all_but(dropped: set[int], count: int) -> array[int]:
    if not dropped:
        return array("I", range(count))
    return array("I", (entry for entry in range(count) if entry not in dropped))


class _LookOnce:
    """Which files are not read before they are stored, though the parent may have their content."""

    def __init__(self, parent: Index, *, skips_chunked: bool) -> None:
        self._chunked: Container[int] = parent.chunks if skips_chunked else ()

    def is_stored_unseen(self, size: int, known: int) -> bool:
        """Whether a file of this size, which might be this one of the parent's, is stored without a look."""
        return size > _MAX_LOOK_BYTES or (
            size >= chunks.MIN_CHUNKED_BYTES and known in self._chunked
        )


def _settle_suspects(
    found: Comparison, scanned: ScannedTree, parent: Index, looker: Looker, look: _LookOnce
) -> dict[int, dict[bytes, bytes]]:
    """Reads every suspect; returns those attributes that differ from the parent's."""
    looker.look_at(
        [
            entry
            for entry, known in found.suspects
            if scanned.mtime_ns[entry] == parent.mtime_ns[known]
            or not look.is_stored_unseen(scanned.size[entry], known)
        ]
    )
    digests, seen = looker.found.digests, looker.found.xattrs
    new = set()
    xattrs = {}
    for entry, known in found.suspects:
        if digests.get(entry) != parent.digest_of(known):
            new.add(entry)
            continue
        found.add_run(entry, known, 1)
        if seen.get(entry, {}) != parent.xattrs.get(known, {}):
            xattrs[entry] = seen.get(entry, {})
        same_mtime = scanned.mtime_ns[entry] == parent.mtime_ns[known]
        same_mode = is_same_mode(scanned.mode[entry], parent.mode[known])
        if not same_mtime or not same_mode or entry in xattrs:
            found.touched.append(entry)
    found.suspects.clear()
    if new:
        found.replaced |= new
        found.new = array("I", sorted([*found.new, *new]))
    return xattrs


def _look_at_directories(
    found: Comparison, scanned: ScannedTree, parent: Index
) -> dict[int, dict[bytes, bytes]]:
    """The attributes of those directories that had others when the parent was taken."""
    xattrs = {}
    with scanned.handles() as handles:
        for entry, known in found.directories:
            if scanned.is_mount_point(entry):
                continue
            try:
                seen = read_xattrs(handles.get(scanned.group_at(entry)))
            except OSError:
                continue  # the scan has said that it may not be entered
            if seen != parent.xattrs.get(known, {}):
                xattrs[entry] = seen
                found.touched.append(entry)
    return xattrs


def _find_moved(
    found: Comparison, scanned: ScannedTree, parent: Index, looker: Looker, look: _LookOnce
) -> dict[int, dict[bytes, bytes]]:
    """New paths whose content the parent has somewhere else refer to it from there.

    They are read first: neither an inode nor an mtime belongs to one content for ever. Returns
    the attributes of those whose content the parent has with others.
    """
    wanted = [
        entry
        for entry in found.new
        if scanned.mode[entry] & KIND_MASK == REGULAR
        and scanned.size[entry]
        and entry not in scanned.hardlinks
    ]
    if not wanted:
        return {}
    content = _KnownContent(parent, {scanned.size[entry] for entry in wanted}, look)
    looker.look_at(
        [
            entry
            for entry in wanted
            if content.may_have(scanned.size[entry], scanned.mtime_ns[entry])
        ]
    )
    still_new = array("I")
    xattrs = {}
    for entry in found.new:
        digest = looker.found.digests.get(entry)
        known = content.find(scanned.size[entry], digest) if digest else None
        if known is None:
            still_new.append(entry)
            continue
        found.add_run(entry, known, 1)
        found.touched.append(entry)
        seen = looker.found.xattrs.get(entry, {})
        if seen != parent.xattrs.get(known, {}):
            xattrs[entry] = seen
    found.new = still_new
    return xattrs


class _KnownContent:
    """The files of an index by size, and by digest once somebody asks for one of that size."""

    def __init__(self, index: Index, sizes: set[int], look: _LookOnce) -> None:
        self._index = index
        self._by_size: dict[int, list[int]] = defaultdict(list)
        self._by_digest: dict[int, dict[bytes, int]] = {}
        for known, size in enumerate(index.size):
            if size in sizes:
                self._by_size[size].append(known)
        # Of these sizes a file is read only if it has the mtime of one that is known.
        self._unseen = {
            size: {index.mtime_ns[known] for known in of_size}
            for size, of_size in self._by_size.items()
            if all(look.is_stored_unseen(size, known) for known in of_size)
        }

    def may_have(self, size: int, mtime_ns: int) -> bool:
        """Whether reading a file of this size may show that its content is known."""
        return mtime_ns in self._unseen[size] if size in self._unseen else size in self._by_size

    def find(self, size: int, digest: bytes) -> int | None:
        """The first entry with this content."""
        table = self._by_digest.get(size)
        if table is None:
            of_size = reversed(self._by_size.get(size, []))
            table = {self._index.digest_of(known): known for known in of_size}
            self._by_digest[size] = table
        return table.get(digest)


def _unreadable(
    scanned: ScannedTree, entries: array[int], handles: DirectoryHandles, warn: Warn
) -> set[int]:
    """Files that may not be read are found now, so that they alone never make a snapshot."""
    if os.geteuid() == 0:
        return set()
    refused = set()
    for entry in entries:
        mode = scanned.mode[entry]
        if mode & KIND_MASK != REGULAR or mode & 0o444 == 0o444:
            continue
        try:
            directory = handles.get(scanned.group_of(entry))
            readable = os.access(
                scanned.names[entry], os.R_OK, dir_fd=directory, effective_ids=True
            )
        except OSError:
            continue  # whatever it is, reading it will say
        if not readable:
            refused.add(entry)
            warn("files.unreadable", scanned.path(entry), "may not be read, and was left out")
    return refused
