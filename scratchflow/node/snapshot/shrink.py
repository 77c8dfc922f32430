"""What a backup does about a workspace that lost most of its files: asks a person, or keeps the parent."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice

import msgspec

from scratchflow.archive.compare.plan import Plan
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.root_sizes import files_at, root_sizes
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR, Tree
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.snapshot import Manifest, Purpose
from scratchflow.model.times import iso_time
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot.plan import Parent
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.retention.marks import Mark, keep
from scratchflow.store.retention.shrink import Loss, Shrink, find_shrink

# How many missing files are looked for on disk, to tell deleted ones from excluded ones.
_LOOKED_AT = 1000
# Of so many of the largest files one is named, if any is: each may mean a look at every size that there is.
_LARGEST = 100
# Nobody can answer there. Refusing would leave every later change unsaved; another snapshot loses nothing.
UNATTENDED: frozenset[Purpose] = frozenset({"auto", "final"})


def shrink_since(
    parent: Manifest,
    index: Index,
    planned: Plan,
    roots: Sequence[str],
    unreadable: Iterable[bytes] = (),
) -> Shrink | None:
    """How the workspace shrank since its parent, or an earlier one. Only roots that both save are compared.

    What that one holds of the `unreadable` paths does not count as missing.
    """
    common = [root for root in (parent.workspace, *parent.also) if root in roots]
    now = root_sizes(planned.scanned, common, planned.dropped)
    return find_shrink(root_sizes(index, common, _unread(index, unreadable)), now)


def explained(
    shrink: Shrink, index: Index, planned: Plan, unreadable: Iterable[bytes] = ()
) -> Shrink:
    """The same with the file that says most about it: one that is excluded by now, or lost more than any other."""
    if planned.parent and planned.parent.id == index.id:
        still_there = _still_there(index, planned, shrink.root)
        if still_there:
            return msgspec.structs.replace(shrink, still_there=still_there)
    hidden = _unread(index, unreadable)
    largest = _largest_loss(index, planned.scanned, shrink.root, hidden)
    return msgspec.structs.replace(shrink, largest=largest)


def _unread(index: Index, unreadable: Iterable[bytes]) -> set[int]:
    return files_at(index, (path.rstrip(b"/") for path in unreadable))


def compared_with(
    place: StoreDirectory, parent: Parent, planned: Plan, roots: Sequence[str]
) -> Parent:
    """The parent if the workspace shrank since that one, else what was agreed upon before it."""
    if shrink_since(parent.manifest, parent.index, planned, roots):
        return parent
    return _agreed_upon(place, parent)


def _agreed_upon(place: StoreDirectory, parent: Parent) -> Parent:
    """The parent, or what it came from when it is a safety snapshot: nobody agreed to what was missing in that.

    Before a part of a snapshot is restored, one is taken of what there is, however little. Restored as a whole
    later, as the newest one there is, it is as little as before.
    """
    if parent.manifest.purpose not in {"safety", "restored"}:
        return parent
    listed = {one.id: one for one in read_catalogue(place).snapshots}
    manifest = parent.manifest
    while (before := listed.get(manifest.parent or "")) and _is_safety(manifest, before):
        manifest = before
    if manifest is parent.manifest:
        return parent
    with suppress(ScratchflowError):  # one that cannot be read has nothing to compare
        index = open_index(place.archive(manifest.id))
        return msgspec.structs.replace(parent, manifest=manifest, index=index)
    return parent


def _is_safety(manifest: Manifest, before: Manifest) -> bool:
    """Whether a snapshot is a safety snapshot, or one that was restored."""
    return manifest.purpose == "safety" or (
        manifest.purpose == "restored" and before.purpose == "safety"
    )


def shrank_while_saved(parent: Manifest, index: Index, saved: Index, roots: Sequence[str]) -> bool:
    """Whether most of the parent's files are missing in what was saved: removed before they could be read."""
    common = [root for root in (parent.workspace, *parent.also) if root in roots]
    return find_shrink(root_sizes(index, common), root_sizes(saved, common)) is not None


def _largest_loss(index: Index, now: Tree, root: str, hidden: set[int]) -> Loss | None:
    """The file beneath the root that lost most bytes, by names and sizes alone.

    One that is gone while another has just its size may have been renamed, and is not named.
    """
    largest = None
    files = files_at(index, [os.fsencode(root)]) - hidden
    for entry in sorted(files, key=index.size.__getitem__, reverse=True)[:_LARGEST]:
        size = index.size[entry]
        if largest and largest.bytes >= size:  # no other can have lost more
            break
        path = index.path(entry)
        there = now.find(path)
        lost = size - (now.size[there] if there is not None else 0)
        may_be_renamed = there is None and size in now.size
        if lost > (largest.bytes if largest else 0) and not may_be_renamed:
            largest = Loss(os.fsdecode(path), lost, is_gone=there is None)
    return largest


def _still_there(index: Index, planned: Plan, root: str) -> str | None:
    """A file of the parent that is on disk though the scan passed over it: it is excluded by now."""
    scratch, inside = os.fsencode(planned.scanned.scratch), os.fsencode(root) + b"/"
    gone = (index.path(one) for one in planned.found.gone if _is_file(index, one))
    for path in islice((one for one in gone if one.startswith(inside)), _LOOKED_AT):
        on_disk = os.path.join(scratch, path)
        parent = os.path.dirname(on_disk)
        # A directory that is a link by now leads elsewhere: what lies there was never saved.
        if os.path.realpath(parent) == parent and os.path.lexists(on_disk):
            return os.fsdecode(path)
    return None


def _is_file(index: Index, entry: int) -> bool:
    return index.mode[entry] & KIND_MASK == REGULAR


def keep_quietly(place: StoreDirectory, parent: Manifest, shrink: Shrink) -> None:
    """The same without a word: `status` has it until a larger one is the newest again."""
    now = iso_time(time.time()) or ""
    keep(place, Mark(snapshot=parent.id, why="shrink", time=now, detail=shrink.in_words()))


def keep_parent(place: StoreDirectory, parent: Manifest, shrink: Shrink, notify: Notifier) -> None:
    """Keeps the parent from retention until a person agrees. Called before the smaller one is committed."""
    keep_quietly(place, parent, shrink)
    detail = shrink.in_words()
    message = (
        f"{detail}; it is saved all the same, and snapshot {parent.id} is kept:"
        f" `scratchflow restore {parent.id}` brings it back"
    )
    notify.warn("backup.shrunk", b"", message)


def foretell_shrink(
    parent: Parent,
    planned: Plan,
    roots: Sequence[str],
    unreadable: Sequence[bytes],
    notify: Notifier,
) -> None:
    """What `keep_parent` will say, for a dry run: marks nothing."""
    shrink = shrink_since(parent.manifest, parent.index, planned, roots)
    if shrink is None:
        return
    detail = explained(shrink, parent.index, planned, unreadable).in_words()
    snapshot = parent.manifest.id
    message = (
        f"{detail}; it would be saved all the same, and snapshot {snapshot} kept:"
        f" `scratchflow restore {snapshot}` brings it back"
    )
    notify.warn("backup.shrunk", b"", message)
