"""Puts the index of a new archive together from the scan, the parent and what was stored."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import compress
from typing import TypeVar

from scratchflow.archive.compare.plan import Plan
from scratchflow.archive.scan.cache import recheck_flags
from scratchflow.archive.tree.index import DIGEST_BYTES, NOWHERE, RECHECK, ArchiveFrames, Index
from scratchflow.archive.tree.names import PackedNames

_Extra = TypeVar("_Extra")


# What a tree consists of, given and derived.
_TREE = (
    "names", "mode", "size", "mtime_ns", "children", "symlinks", "targets", "hardlinks", "roots",
)  # fmt: skip
_TREE_TABLES = ("first", "entry_of", "dir_entries", "dir_groups")
_PLACES = ("archive", "position", "digest", "sparse", "xattrs", "chunks", "seed")


def same_tree(index: Index, archive_id: str, flags: array[int], frames: ArchiveFrames) -> Index:
    """An index that lists the very same content under another id; it shares the columns."""
    again = Index(archive_id)
    for name in (*_TREE, *_TREE_TABLES, *_PLACES):
        setattr(again, name, getattr(index, name))
    again.flags = flags
    again.archives = list(index.archives)
    _forget_unused(again, frames)
    return again


def begin_index(plan: Plan, archive_id: str) -> Index:
    """The index as far as the scan and the parent know it; its tree columns are the scan's own."""
    scanned = plan.scanned
    index = Index(archive_id)
    for name in (*_TREE, *_TREE_TABLES):
        setattr(index, name, getattr(scanned, name))
    count = len(scanned)
    index.archive = array("H", [NOWHERE]) * count
    index.position = array("Q", bytes(8 * count))
    index.digest = bytearray(DIGEST_BYTES * count)
    index.seed = plan.seed
    if plan.parent and not plan.full:
        index.archives = list(plan.parent.archives)
        _take_from_parent(index, plan, plan.parent)
    return index


def _take_from_parent(index: Index, plan: Plan, parent: Index) -> None:
    digest = index.digest
    assert isinstance(digest, bytearray)  # noqa: S101 - made above
    for entry, known, count in plan.found.runs:
        index.archive[entry : entry + count] = parent.archive[known : known + count]
        index.position[entry : entry + count] = parent.position[known : known + count]
        digest[entry * DIGEST_BYTES : (entry + count) * DIGEST_BYTES] = parent.digest[
            known * DIGEST_BYTES : (known + count) * DIGEST_BYTES
        ]
    index.sparse = _moved_along(parent.sparse, plan.found.runs)
    index.chunks = _moved_along(parent.chunks, plan.found.runs)
    index.xattrs = {**_moved_along(parent.xattrs, plan.found.runs), **plan.xattrs}


def _moved_along(extras: dict[int, _Extra], runs: list[tuple[int, int, int]]) -> dict[int, _Extra]:
    """The same values under the entries' numbers of now."""
    if not extras:
        return {}
    keys = sorted(extras)
    moved = {}
    for entry, known, count in runs:
        for key in keys[bisect_left(keys, known) : bisect_left(keys, known + count)]:
            moved[entry + key - known] = extras[key]
    return moved


def finish_index(
    index: Index, plan: Plan, frames: ArchiveFrames, unsettled: set[int], dropped: set[int]
) -> None:
    """Completes flags and hardlinks, and forgets archives that nothing lies in any more."""
    _relink(index.hardlinks, dropped)
    index.flags = recheck_flags(plan.scanned)
    for entry in unsettled:
        index.flags[entry] = RECHECK
    for entry, first in index.hardlinks.items():
        _copy_place(index, first, entry)
    _forget_unused(index, frames)


def _relink(hardlinks: dict[int, int], dropped: set[int]) -> None:
    """Further names of a file whose first name is not in the index become names of each other.

    Those that had to be stored were linked anew when they were; the rest is known content.
    """
    heirs: dict[int, int] = {}
    for entry, first in sorted(hardlinks.items()) if dropped else ():
        if first not in dropped or entry in dropped:
            continue
        heir = heirs.setdefault(first, entry)
        if heir == entry:
            del hardlinks[entry]
        else:
            hardlinks[entry] = heir


def _copy_place(index: Index, source: int, entry: int) -> None:
    """Another name of a file says of it what was true when the file was read."""
    for column in (index.size, index.mode, index.mtime_ns):
        column[entry] = column[source]
    digest = index.digest
    assert isinstance(digest, bytearray)  # noqa: S101 - an index under construction
    index.archive[entry] = index.archive[source]
    index.position[entry] = index.position[source]
    digest[entry * DIGEST_BYTES : (entry + 1) * DIGEST_BYTES] = index.digest_of(source)
    for extras in (index.sparse, index.xattrs, index.chunks):
        extras.pop(entry, None)
        if source in extras:
            extras[entry] = extras[source]  # type: ignore[assignment]  # dicts, each of one type


def _forget_unused(index: Index, frames: ArchiveFrames) -> None:
    own = len(index.archives)
    index.archives.append(frames)
    used = sorted(index.used_archives() | {own})
    if used == list(range(own + 1)):
        return
    numbers = {old: new for new, old in enumerate(used)} | {NOWHERE: NOWHERE}
    index.archives = [index.archives[old] for old in used]
    index.archive = array("H", map(numbers.__getitem__, index.archive))
    index.chunks = {entry: one.renumbered(numbers) for entry, one in index.chunks.items()}


def without(index: Index, plan: Plan, dropped: set[int]) -> Index:
    """The index without entries that could not be read; the scan loses them as well.

    Only files and symlinks are ever dropped, so no group loses its directory.
    """
    if not dropped:
        return index
    scanned = plan.scanned
    keep = bytearray(b"\1") * len(index)
    for entry in dropped:
        keep[entry] = 0
    children = array("I")
    for group in range(index.group_count):
        children.append(sum(keep[index.first[group] : index.first[group + 1]]))
    names = PackedNames(compress(index.names, keep))
    kept_links = [entry not in dropped for entry in index.symlinks]
    targets = PackedNames(compress(index.targets, kept_links))
    numbers = array("I", bytes(4 * len(index)))
    for number, entry in enumerate(compress(range(len(index)), keep)):
        numbers[entry] = number
    digests = [index.digest_of(entry) for entry in compress(range(len(index)), keep)]
    index.digest = bytearray().join(digests)
    for name in ("mode", "size", "mtime_ns", "archive", "position", "flags"):
        column: array[int] = getattr(index, name)
        setattr(index, name, array(column.typecode, compress(column, keep)))
    scanned.inode = array("Q", compress(scanned.inode, keep))
    scanned.ctime_ns = array("q", compress(scanned.ctime_ns, keep))
    index.symlinks = array("I", (numbers[entry] for entry in compress(index.symlinks, kept_links)))
    index.hardlinks = {
        numbers[entry]: numbers[first]
        for entry, first in index.hardlinks.items()
        if entry not in dropped
    }
    index.sparse = {numbers[k]: v for k, v in index.sparse.items() if k not in dropped}
    index.xattrs = {numbers[k]: v for k, v in index.xattrs.items() if k not in dropped}
    index.chunks = {numbers[k]: v for k, v in index.chunks.items() if k not in dropped}
    for tree in (index, scanned):
        tree.names, tree.targets, tree.children = names, targets, children
        tree.mode, tree.size, tree.mtime_ns = index.mode, index.size, index.mtime_ns
        tree.symlinks, tree.hardlinks = index.symlinks, index.hardlinks
        tree.connect()
    return index
