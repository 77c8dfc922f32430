"""Other workspaces of ours on the node, as its auto-backup and the store tell of them."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from scratchflow.model.results.status import OtherShown
from scratchflow.model.text import printable
from scratchflow.store.catalogue import newest_listed
from scratchflow.store.directory import find_place
from scratchflow.store.heartbeats import Heartbeat, OtherWorkspace, read_heartbeat
from scratchflow.store.nodes import read_nodes
from scratchflow.workspace.workspace import Workspace


def others_shown(workspace: Workspace, heartbeat: Heartbeat, store: Path) -> list[OtherShown]:
    """Other workspaces of ours on the node, as its auto-backup saw them last; an old copy is told as that."""
    goes_on = heartbeat.phase != "ended"
    seen = [_as_noted_since(other, workspace, heartbeat, store) for other in heartbeat.others]
    return [
        OtherShown(
            name=other.name,
            path=str(workspace.scratch / other.name),
            snapshot=other.snapshot,
            saved_time=other.time,
            last_error=(other.error or None) if goes_on else None,
            own_autobackup=other.own_loop,
            is_saved=not other.restoring
            and (other.own_loop or (goes_on and not _store_missing(other))),
            store_missing=_store_missing(other),
            newer=_newer_than(other, store),
            restoring=other.restoring,
            other_store="" if _is_in(other, store) else other.store,
        )
        for other in seen
    ]


def _as_noted_since(
    other: OtherWorkspace, workspace: Workspace, heartbeat: Heartbeat, store: Path
) -> OtherWorkspace:
    """The same with what another command has noted in the store after the heartbeat, like a `clear` of its profile.

    Both times are of the node's clock. A record of another path on the node tells nothing about this copy.
    """
    if not _is_in(other, store):
        return other
    place, path = find_place(store, other.name), printable(workspace.scratch / other.name)
    own = read_heartbeat(place, heartbeat.node) if other.own_loop else None
    records = [
        one
        for one in read_nodes(place)
        if one.node == heartbeat.node and one.workspace_path == path and one.time >= heartbeat.time
    ]
    return msgspec.structs.replace(
        other,
        snapshot=records[0].snapshot if records else other.snapshot,
        restoring=records[0].restoring if records else other.restoring,
        own_loop=other.own_loop and not (own is not None and own.phase == "ended"),
    )


def _store_missing(other: OtherWorkspace) -> str:
    """The directory of its snapshots, if this host has none there; before its first snapshot, the store."""
    if not os.path.isabs(other.store):
        return ""
    store = Path(other.store)
    directory = find_place(store, other.name).directory if other.snapshot else store
    return "" if directory.is_dir() else str(directory)


def _newer_than(other: OtherWorkspace, store: Path) -> str | None:
    """What is newer in the store than a copy's snapshot. Another store than ours is not looked into."""
    if other.snapshot is None or not _is_in(other, store):
        return None
    newest = newest_listed(find_place(store, other.name))
    return newest if newest and newest > other.snapshot else None


def _is_in(other: OtherWorkspace, store: Path) -> bool:
    return os.path.realpath(other.store) == os.path.realpath(store)
