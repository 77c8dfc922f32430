"""`snapshots diff` between two snapshots. Apart from the list of them, which needs none of what compares trees."""

from __future__ import annotations

from collections import Counter

from scratchflow.archive.compare.diff import difference
from scratchflow.archive.read.archive_file import open_index
from scratchflow.model.events import path_fields
from scratchflow.model.requests import Diff
from scratchflow.model.results.snapshots import PathChange, SnapshotsDiffed
from scratchflow.node.asker import asker
from scratchflow.node.context import NodeContext
from scratchflow.node.history.history import warned_catalogue
from scratchflow.node.history.live_diff import directory_changes
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.holders import LISTS_PATHS, path_in_place_of_snapshot
from scratchflow.store.directory import find_place
from scratchflow.store.names import find_snapshot


def diff_snapshots(context: NodeContext, notify: Notifier, asked: Diff) -> SnapshotsDiffed:
    """Which paths differ between two snapshots."""
    place = find_place(context.store, context.workspace.name)
    catalogue = warned_catalogue(context, notify)
    who = asker(context, notify, asked.zone)
    found = []
    for one in (asked.older, asked.newer):
        with path_in_place_of_snapshot(context, one, LISTS_PATHS):
            found.append(find_snapshot(catalogue, one, who))
    first, second = found
    before, after = (open_index(place.archive(one.id)) for one in found)
    changes = list(difference(before, after))
    counts = Counter(action for action, _ in changes)
    return SnapshotsDiffed(
        older=first.id,
        newer=second.id,
        added=counts["added"],
        removed=counts["removed"],
        changed=counts["changed"],
        paths=[PathChange(action=action, **path_fields(path)) for action, path in changes],
        roots=list(dict.fromkeys([second.workspace, *second.also, *first.also])),
        directories=directory_changes({path: action for action, path in changes}, before, after),
    )
