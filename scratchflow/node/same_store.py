"""Whether the store that this machine sees is the one that the login host sees, and the workspace was saved to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from scratchflow.cluster.this_host import home_of
from scratchflow.disk.trees import is_empty_or_missing
from scratchflow.model.errors.store import StoreNotShared, StoreReplaced, StoreUnusable
from scratchflow.model.events import Emit, Warned
from scratchflow.model.requests import StoreSeen
from scratchflow.model.text import printable
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.store.checks.writable import refuse_unwritable
from scratchflow.store.directory import STORE_NAME, StoreDirectory, find_place, open_place
from scratchflow.store.identity import ensure_store_id, has_snapshots, read_store_id
from scratchflow.store.known import note_store, store_lost
from scratchflow.workspace.notes import Base, read_base_note
from scratchflow.workspace.workspace import Workspace


def open_store(context: NodeContext, notify: Notifier) -> StoreDirectory:
    """The workspace's place for writing. A store that is not the expected one is refused untouched."""
    require_same_store(context)
    place = open_place(context.store, context.workspace.name)
    _ensure_id(place, notify.emit, context.profile.backup.mirror)
    return place


def require_writable_store(context: NodeContext) -> StoreDirectory:
    """What a dry run asks in place of `open_store` and the lock: refuses as these would, and writes nothing."""
    require_same_store(context)
    place = find_place(context.store, context.workspace.name)
    refuse_unwritable(place)
    return place


def _ensure_id(place: StoreDirectory, emit: Emit, mirror: str) -> str:
    """The store's id. A store that has snapshots and lost its id gets a new one, with a warning: its mirror knows the old one."""
    is_lost = read_store_id(place) is None and has_snapshots(place)
    store_id = ensure_store_id(place)
    if is_lost:
        file = place.directory / STORE_NAME
        host = os.uname().nodename
        message = f"`{file}` on `{host}` was missing beside the snapshots: the store has a new id, and all its snapshots"
        message += f"; {_for_mirror(file, mirror)}"
        emit(Warned(code="store.new_id", message=printable(message)))
    return store_id


def _for_mirror(file: Path, mirror: str) -> str:
    """What a new id means for the mirror of a store."""
    if not mirror:
        return "a mirror of it, if there was one, is refused as that of another store"
    import shlex  # both seldom needed

    from scratchflow.cluster.rclone.remote import beneath

    there = beneath(beneath(mirror, file.parent.name), STORE_NAME)
    back = shlex.join(["rclone", "copyto", there, str(file)])
    return f"its mirror `{mirror}` is refused as that of another store until `{back}` brings the old id back"


def require_same_store(context: NodeContext) -> None:
    """StoreNotShared or StoreReplaced, when what is saved here would be lost with the node or the mount."""
    place = find_place(context.store, context.workspace.name)
    found = read_store_id(place)
    if context.store_seen is not None and found != context.store_seen.id:
        raise not_shared(context, context.store_seen)
    mirror = context.profile.backup.mirror
    replaced = store_replaced(context.workspace, context.store, context.node, mirror=mirror)
    if replaced is not None:
        raise replaced


def require_store_here(context: NodeContext, environment: Mapping[str, str]) -> None:
    """StoreLost, when the path held a store before and is empty now: nobody is told that there are no snapshots."""
    place = find_place(context.store, context.workspace.name)
    mirror = context.profile.backup.mirror
    lost = store_lost(home_of(environment), place, context.node, mirror=mirror)
    if lost is not None:
        raise lost


def refuse_empty_store(context: NodeContext) -> None:
    """StoreReplaced for a place without snapshots, when the workspace was saved to one that had some.

    For commands that only read, or remove: of a store that is moved away nobody is told that there are no snapshots.
    """
    place = find_place(context.store, context.workspace.name)
    mirror = context.profile.backup.mirror
    try:
        replaced = store_replaced(context.workspace, context.store, context.node, mirror=mirror)
    except (
        StoreUnusable,
        OSError,
    ):  # `verify` tells of the id; on a login host scratch may be closed to us
        return
    if replaced is not None and not has_snapshots(place):
        raise replaced


def store_replaced(
    workspace: Workspace, store: Path, node: str, *, mirror: str = ""
) -> StoreReplaced | None:
    """The error for a store that is not the one that the workspace on this machine was saved to; with a mirror the hint names it."""
    place = find_place(store, workspace.name)
    base, found = read_base_note(workspace, store), read_store_id(place)
    if base is None or _is_store_of(place, found, base):
        return None
    is_other = has_snapshots(place)
    # One without an id has nothing to bring: it is not mounted, or gone. With an id it was begun here.
    is_begun = is_other or found is not None
    if is_empty_or_missing(workspace.path) and is_begun:
        return None  # nothing here came from another store any more
    ways = [_from_mirror(place, mirror)] if mirror else []
    if is_begun:
        keeping = StoreReplaced.keeping
        ways.insert(0, keeping(workspace.path, base.snapshot, node, is_new=not is_other))
    if is_other or not is_begun:
        ways.append(StoreReplaced.ANOTHER_PATH)
    return StoreReplaced(
        store=store,
        node=node,
        workspace=workspace.path,
        snapshot=base.snapshot,
        ways="; ".join(ways),
    )


def _from_mirror(place: StoreDirectory, mirror: str) -> str:
    """How a store that is gone comes back. One that has begun in its place, and is empty, gives way."""
    first = ""
    if read_store_id(place) is not None and not has_snapshots(place):
        import shlex  # only ever needed on the way to an error

        file = shlex.quote(str(place.directory / STORE_NAME))
        first = f"remove the mark of the new, empty store that is there (`rm {file}`), then "
    bring = "`scratchflow snapshots import --from-mirror --all`"
    return f"if the old store is lost, {first}{bring} brings it back from `{mirror}`"


def not_shared(context: NodeContext, seen: StoreSeen) -> StoreNotShared:
    """The error for a store that this node and the login host do not share."""
    return StoreNotShared(node=context.node, store=context.store, login=seen.host, other=seen.path)


def store_seen_here(
    store: Path, name: str, home: Path, emit: Emit, *, make: bool, mirror: str = ""
) -> StoreSeen | None:
    """What this login host tells a node to compare with; None when the store has no id yet.

    With `make` a store that is new gets one. StoreLost if there was a store at this path before.
    """
    place = find_place(store, name)
    if make:
        lost = store_lost(home, place, os.uname().nodename, mirror=mirror)
        if lost is not None:
            raise lost
        place = open_place(store, name)
    store_id = _ensure_id(place, emit, mirror) if make else read_store_id(place)
    if store_id:
        note_store(home, place, store_id)
    path = str(store)
    return StoreSeen(id=store_id, host=os.uname().nodename, path=path) if store_id else None


def _is_store_of(place: StoreDirectory, found: str | None, base: Base) -> bool:
    """The id decides. A store that holds the snapshot itself is accepted too: it is a copy, or older than ids."""
    if found is not None and found == base.store_id:
        return True
    if place.manifest(base.snapshot).exists():
        return True
    # Notes and stores from before there were ids: that snapshot may have been pruned.
    return not base.store_id and has_snapshots(place)
