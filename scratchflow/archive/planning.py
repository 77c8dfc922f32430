"""Decides what a backup has to store: what changed since the parent, and what only moved."""

from __future__ import annotations

import os
from array import array
from collections import defaultdict

import msgspec

from scratchflow.archive.cache import ScanCache
from scratchflow.archive.compare import Comparison, compare
from scratchflow.archive.digest import digest_of_file, read_buffer
from scratchflow.archive.dirfds import DirectoryHandles
from scratchflow.archive.index import Index
from scratchflow.archive.scan import ScannedTree, Warn
from scratchflow.archive.tree import KIND_MASK, REGULAR
from scratchflow.archive.xattrs import read_xattrs

OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# A larger file that might be known is stored again without a look, unless its mtime speaks for
# it: reading it twice would cost more than it could save.
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

    def cache_if_unchanged(self) -> ScanCache | None:
        """A fresh cache for the parent when nothing changed: what was reread need not be again."""
        if self.unchanged and self.parent:
            return ScanCache.if_equal(self.scanned, self.parent)
        return None


def plan(
    scanned: ScannedTree,
    parent: Index | None,
    cache: ScanCache | None = None,
    *,
    warn: Warn,
    full: bool = False,
) -> Plan:
    """Compares the tree with the parent's index, and reads what cannot be told otherwise.

    With `full` everything is stored, but the parent still says what changed and lends its seed,
    so that a later delta can compare snapshots across the two.
    """
    found = compare(scanned, parent, cache) if parent else _everything_is_new(scanned)
    xattrs: dict[int, dict[bytes, bytes]] = {}
    with scanned.handles() as handles:
        looker = _Looker(scanned, handles, parent.seed if parent else 0)
        if parent:
            xattrs = _settle_suspects(found, scanned, parent, looker)
            _find_moved(found, scanned, parent, cache, looker)
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


class _Looker:
    """Reads and digests files of the tree."""

    def __init__(self, scanned: ScannedTree, handles: DirectoryHandles, seed: int) -> None:
        self._scanned = scanned
        self._handles = handles
        self._seed = seed
        self._buffer = read_buffer()
        self.xattrs: dict[bytes, bytes] = {}  # of the file looked at last

    def digest(self, entry: int) -> bytes | None:
        """The digest of a file; None when it is not, or not any more, what the scan saw."""
        scanned = self._scanned
        try:
            directory = self._handles.get(scanned.group_of(entry))
            descriptor = os.open(scanned.names[entry], OPEN_FILE, dir_fd=directory)
        except OSError:
            return None
        try:
            digest = digest_of_file(descriptor, self._seed, self._buffer)
            self.xattrs = read_xattrs(descriptor)
            after = os.fstat(descriptor)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        stable = after.st_ctime_ns == scanned.ctime_ns[entry]
        return digest if stable and after.st_size == scanned.size[entry] else None


def _settle_suspects(
    found: Comparison, scanned: ScannedTree, parent: Index, looker: _Looker
) -> dict[int, dict[bytes, bytes]]:
    """Reads every suspect; returns those attributes that differ from the parent's."""
    new = set()
    xattrs = {}
    for entry, known in found.suspects:
        same_mtime = scanned.mtime_ns[entry] == parent.mtime_ns[known]
        worth_a_look = same_mtime or scanned.size[entry] <= _MAX_LOOK_BYTES
        if worth_a_look and looker.digest(entry) == parent.digest_of(known):
            found.add_run(entry, known, 1)
            if looker.xattrs != parent.xattrs.get(known, {}):
                xattrs[entry] = looker.xattrs
            if not same_mtime or scanned.mode[entry] != parent.mode[known] or entry in xattrs:
                found.touched.append(entry)
        else:
            new.add(entry)
    found.suspects.clear()
    if new:
        found.replaced |= new
        found.new = array("I", sorted([*found.new, *new]))
    return xattrs


def _find_moved(
    found: Comparison,
    scanned: ScannedTree,
    parent: Index,
    cache: ScanCache | None,
    looker: _Looker,
) -> None:
    """New paths whose content the parent has somewhere else refer to it from there."""
    wanted = {
        scanned.size[entry]
        for entry in found.new
        if scanned.mode[entry] & KIND_MASK == REGULAR and scanned.size[entry]
    }
    if not wanted:
        return
    by_inode, by_size = _known_content(found, parent, cache, wanted)
    still_new = array("I")
    for entry in found.new:
        known = _moved_from(entry, scanned, parent, (by_inode, by_size), looker)
        if known is None:
            still_new.append(entry)
        else:
            found.add_run(entry, known, 1)
            found.touched.append(entry)
    found.new = still_new


_BySize = dict[int, list[int]]
_ByInode = dict[tuple[int, int, int], int]


def _known_content(
    found: Comparison, parent: Index, cache: ScanCache | None, wanted: set[int]
) -> tuple[_ByInode, _BySize]:
    by_size: _BySize = defaultdict(list)
    for known, size in enumerate(parent.size):
        if size in wanted:
            by_size[size].append(known)
    by_inode: _ByInode = {}
    if cache:
        for known in found.gone:
            if parent.mode[known] & KIND_MASK == REGULAR and not cache.flags[known]:
                key = (cache.inode[known], parent.size[known], parent.mtime_ns[known])
                by_inode[key] = known
    return by_inode, by_size


def _moved_from(
    entry: int,
    scanned: ScannedTree,
    parent: Index,
    known_content: tuple[_ByInode, _BySize],
    looker: _Looker,
) -> int | None:
    by_inode, by_size = known_content
    size = scanned.size[entry]
    if scanned.mode[entry] & KIND_MASK != REGULAR or entry in scanned.hardlinks or not size:
        return None
    key = (scanned.inode[entry], size, scanned.mtime_ns[entry])
    if key in by_inode:
        return by_inode[key]
    candidates = by_size.get(size, ())
    mtime_ns = scanned.mtime_ns[entry]
    if size > _MAX_LOOK_BYTES:
        candidates = [known for known in candidates if parent.mtime_ns[known] == mtime_ns]
    if not candidates:
        return None
    digest = looker.digest(entry)
    return next((known for known in candidates if parent.digest_of(known) == digest), None)


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
