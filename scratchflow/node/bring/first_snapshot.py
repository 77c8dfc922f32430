"""The first snapshot with files of a workspace, which are not in it yet; a restore then puts them there.

The files reach the store first: whatever happens after that, they are safe, and `restore` goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import Counts
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.workspace import WorkspaceKnown
from scratchflow.model.events import Progress
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.node.backup import leave_rescue
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.same_store import open_store
from scratchflow.node.snapshot.manifest import plain_manifest
from scratchflow.node.transfer.roots import landing_of_own
from scratchflow.node.transfer.transfer import refuse_holes
from scratchflow.store.catalogue import fresh_id, read_catalogue
from scratchflow.store.commit.commit import NewSnapshot
from scratchflow.store.commit.reserve import ensure_reserve
from scratchflow.store.retention.sweep import sweep
from scratchflow.store.retention.vacant import is_vacant


class Filled(msgspec.Struct, frozen=True):
    """An archive that was written into the store's temporary file."""

    counts: Counts
    digest: str


Fill = Callable[[NewSnapshot], Filled]


def commit_first(
    context: NodeContext, notify: Notifier, message: str, fill: Fill, snapshot: str = ""
) -> tuple[str, Counts]:
    """A snapshot of what `fill` writes; WorkspaceKnown when somebody else was faster."""
    place = open_store(context, notify)
    with context.lock(place, "scratchflow create", remark=notify.remark) as lock:
        sweep(lock, time.time())
        ensure_reserve(place)
        catalogue = read_catalogue(place)
        if not is_vacant(place, catalogue):
            name = context.workspace.name
            second = f"scratchflow --set workspace={name}2 create"
            raise WorkspaceKnown.of(
                name,
                catalogue.newest_id,
                second=second,
                there=context.where_files_are_copied,
                is_here=context.workspace.path.is_dir(),
            )
        before = notify.warnings
        chosen = snapshot or fresh_id(catalogue, context.now(), context.token(3))
        with NewSnapshot(lock, chosen) as new:
            filled = fill(new)
            notify.phase("verify")
            manifest = plain_manifest(context, chosen, filled.counts, 0, filled.digest)
            new.commit(
                msgspec.structs.replace(
                    manifest,
                    parent=catalogue.newest_id,
                    message=message,
                    purpose="created",
                    exclude=list(context.profile.backup.exclude),
                    warnings=notify.warnings - before,
                )
            )
        leave_rescue(place, notify)
    return chosen, filled.counts


def receive(context: NodeContext, notify: Notifier, snapshot: str) -> Fill:
    """Takes an archive that another scratchflow sends, under the id that it was told to use."""
    if not is_snapshot_id(snapshot) or context.received is None:
        raise StreamBroken(reason="nothing is sent")
    received = context.received

    def fill(new: NewSnapshot) -> Filled:
        digest = WholeDigest()
        for piece in received:
            new.file.write(piece)
            digest.update(piece)
            notify.emit(Progress(phase="receive", bytes_done=new.file.tell()))
        new.file.finish()
        archive = open_store(context, notify).temp_archive(snapshot)
        index = open_index(archive)
        _require_root(context, index, archive, snapshot)
        return Filled(index.counts(), digest.text())

    return fill


def _require_root(context: NodeContext, index: Index, archive: Path, snapshot: str) -> None:
    """Refuses an archive that is not one whole workspace of this profile."""
    workspace = context.workspace
    landing = landing_of_own(index, workspace)
    is_ours = landing.changes_nothing and landing.roots == [workspace.name]
    if index.id != snapshot or index.needs or not is_ours:
        reason = "it is not the archive of this workspace"
        raise SnapshotDamaged(snapshot=snapshot, reason=reason)
    refuse_holes(index, archive)
