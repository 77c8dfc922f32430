"""`snapshots diff` with the workspace as it is now: against its last snapshot, or any other."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Mapping

from scratchflow.archive.compare.diff import Action, difference, whole_directories
from scratchflow.archive.compare.on_disk import OnDisk
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.restore.apply_delta import Changes, changes_since
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, SYMLINK, Tree, is_same_mode
from scratchflow.model.errors.snapshots import LatestUnreadable, SnapshotMissing
from scratchflow.model.events import path_fields
from scratchflow.model.requests import DiffWorkspace
from scratchflow.model.results.snapshots import (
    WORKSPACE,
    DirectoryChange,
    PathChange,
    SnapshotsDiffed,
)
from scratchflow.node.asker import asker
from scratchflow.node.context import NodeContext
from scratchflow.node.former_scratch import require_workspace_here
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.holders import LISTS_PATHS, path_in_place_of_snapshot
from scratchflow.node.same_store import refuse_empty_store
from scratchflow.node.snapshot.plan import find_parent, scan_workspace
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.directory import MANIFEST_SUFFIX, find_place
from scratchflow.store.names import find_snapshot
from scratchflow.workspace.notes import read_base


def diff_workspace(context: NodeContext, notify: Notifier, asked: DiffWorkspace) -> SnapshotsDiffed:
    """Which paths of the workspace differ from a snapshot. Only what changed since its last one is read."""
    require_workspace_here(context)
    place = find_place(context.store, context.workspace.name)
    catalogue = read_catalogue(place)
    if catalogue.newest_id is None:
        refuse_empty_store(context)
    if asked.older is None:
        _require_readable(context, notify, catalogue)
    parent = find_parent(context, place, catalogue, notify)
    if parent is None:
        next_step = "there is no snapshot yet; `scratchflow backup` takes one"
        raise SnapshotMissing(wanted=asked.older or "latest", next_step=next_step)
    older, index = parent.manifest, parent.index
    if asked.older is not None:
        with path_in_place_of_snapshot(context, asked.older, LISTS_PATHS):
            older = find_snapshot(catalogue, asked.older, asker(context, notify, asked.zone))
        index = index if older.id == parent.manifest.id else open_index(place.archive(older.id))
    notify.phase("scan")
    scanned = scan_workspace(context, notify)
    live = changes_since(parent.index, scanned, parent.cache, notify.warn)
    since = {path: action for action, path in difference(index, parent.index)}
    changes = _combined(since, live, _Same(index, os.fsencode(context.workspace.scratch)))
    counts = Counter(changes.values())
    return SnapshotsDiffed(
        older=older.id,
        newer=WORKSPACE,
        added=counts["added"],
        removed=counts["removed"],
        changed=counts["changed"],
        paths=[PathChange(action=changes[path], **path_fields(path)) for path in sorted(changes)],
        roots=list(dict.fromkeys([*context.workspace.roots, *older.also])),
        directories=directory_changes(changes, index, scanned),
    )


def directory_changes(
    changes: Mapping[bytes, Action], older: Tree, newer: Tree
) -> list[DirectoryChange]:
    """The directories among these changes that were added or removed as a whole."""
    return [
        DirectoryChange(
            action=one.action, files=one.files, bytes=one.bytes, **path_fields(one.path)
        )
        for one in whole_directories(changes, older, newer)
    ]


def _require_readable(context: NodeContext, notify: Notifier, catalogue: Catalogue) -> None:
    """Raises when the workspace's last snapshot cannot be read: what differs from one before it may be saved all the same."""
    base = read_base(context.workspace, context.store)
    if any(one.id == base for one in catalogue.snapshots):
        return
    newest = catalogue.newer_unreadable
    if base in catalogue.unreadable and not (newest and newest.snapshot == base):
        find_snapshot(catalogue, base, asker(context, notify, ()))
    if newest is None:
        return
    next_step = newest.way_out(f"repair `{newest.snapshot}{MANIFEST_SUFFIX}` in the store")
    if older := catalogue.newest_readable:
        next_step += f", or compare with the newest snapshot that can be read: `scratchflow snapshots diff {older.id}`"
    raise LatestUnreadable(snapshot=newest.snapshot, reason=newest.reason, next_step=next_step)


class _Same:
    """Whether what is on disk at a path has the content and mode that an index has for it."""

    def __init__(self, index: Index, scratch: bytes) -> None:
        self._index = index
        self._on_disk = OnDisk(index, scratch)

    def knows(self, path: bytes) -> bool:
        """Whether the index has that path at all."""
        return self._index.find(path) is not None

    def __call__(self, path: bytes) -> bool:
        index = self._index
        entry = index.find(path)
        if entry is None:
            return False
        try:
            found = os.lstat(self._on_disk.path(path))
            kind = index.mode[entry] & KIND_MASK
            if kind == SYMLINK and stat.S_ISLNK(found.st_mode):
                return os.readlink(self._on_disk.path(path)) == index.target(entry)
            if not is_same_mode(found.st_mode, index.mode[entry]):
                return False
            if kind == DIRECTORY:
                return True
            return self._on_disk.has_content(entry)
        except OSError:  # it may not be read, or goes now: nothing shows that it is the same
            return False


def _combined(since: dict[bytes, Action], live: Changes, is_same: _Same) -> dict[bytes, Action]:
    """What differs from the older snapshot: what did until the last one, and what was done since.

    A file that has its older content again, or was only touched, does not differ.
    """
    changes = dict(since)
    for path in live.deleted:
        if changes.get(path) == "added":
            del changes[path]
        else:
            changes[path] = "removed"
    for path in (*live.added, *live.modified):
        is_known = is_same.knows(path)
        if is_known and is_same(path):
            changes.pop(path, None)
        else:
            changes[path] = "changed" if is_known else "added"
    return changes
