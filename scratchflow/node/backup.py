"""`backup`: take a snapshot, full or incremental, whichever is right."""

from __future__ import annotations

import time

import msgspec

from scratchflow.disk.durable import may_be_there
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.requests import Backup
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.text import printable
from scratchflow.node.base_note import note_what_was_saved
from scratchflow.node.context import NodeContext
from scratchflow.node.former_scratch import require_at_scratch
from scratchflow.node.progress import Notifier
from scratchflow.node.renamed import renamed_error, renamed_to, warn_of_renamed
from scratchflow.node.same_store import open_store, require_writable_store
from scratchflow.node.snapshot.allowed import (
    require_backupable,
    require_own,
    require_workspace,
    unfinished_restore,
)
from scratchflow.node.snapshot.options import SnapshotOptions, is_wanted_anyway
from scratchflow.node.snapshot.plan import plan_snapshot
from scratchflow.node.snapshot.result import Heard, removed_files, unsaved_fields
from scratchflow.node.snapshot.shrink import UNATTENDED, compared_with, foretell_shrink
from scratchflow.node.snapshot.take import refuse_shrink, take_snapshot
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.commit.reserve import ensure_reserve
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.rescue_files import RESCUE_NAME, put_rescue
from scratchflow.store.retention.sweep import sweep
from scratchflow.workspace.notes import read_base


def requested_backup(context: NodeContext, notify: Notifier, asked: Backup) -> BackupTaken:
    """What `backup` asks for: the snapshot, or what it would be."""
    options = SnapshotOptions(
        full=asked.full,
        allow_shrink=asked.allow_shrink,
        message=printable(asked.message),
        purpose=asked.purpose,
    )
    try:
        taken = (foretell_backup if asked.dry_run else backup)(context, notify, options)
    except WorkspaceMissing:
        now = renamed_to(context.workspace, context.store)
        if now is None or asked.purpose != "asked":
            raise
        raise renamed_error(context, now) from None
    warn_of_renamed(context, notify)
    return msgspec.structs.replace(taken, path=printable(context.workspace.path))


def backup(context: NodeContext, notify: Notifier, options: SnapshotOptions) -> BackupTaken:
    """Takes a snapshot under the store's lock, after clearing away what killed runs left."""
    require_at_scratch(context)
    # While one runs, the workspace may be away for a moment
    if unfinished_restore(context) is None:
        require_workspace(context)
    with context.alone(notify.remark):
        # A restore that runs is waited for; one that was interrupted is not
        require_backupable(context)
        if options.purpose in UNATTENDED:
            require_own(context)
        note_what_was_saved(context, notify)
        place = open_store(context, notify)
        with context.lock(place, "scratchflow backup", remark=notify.remark) as lock:
            sweep(lock, time.time())
            ensure_reserve(place)
            taken = take_snapshot(context, lock, notify, _with_known_roots(context, place, options))
            leave_rescue(place, notify)
            return taken


def leave_rescue(place: StoreDirectory, notify: Notifier) -> None:
    """Puts the files beside the snapshots that restore them without scratchflow.

    The snapshot is safe by then: trouble here is a warning.
    """
    try:
        put_rescue(place)
    except (ScratchflowError, OSError) as error:  # OSError: our own copy cannot be read
        notify.warn("rescue.failed", b"", f"`{RESCUE_NAME}` is not in the store: {error}")


def _with_known_roots(
    context: NodeContext, place: StoreDirectory, options: SnapshotOptions
) -> SnapshotOptions:
    """The last backup of a node also saves what the snapshot before it held beside the workspace.

    The settings may have changed since; what is on the node is gone afterwards.
    """
    base = read_base(context.workspace, context.store) if options.purpose == "final" else None
    if base is None:
        return options
    roots = list(options.roots or context.workspace.roots)
    known = [one for one in read_catalogue(place).snapshots if one.id == base]
    more = [root for one in known for root in one.also if root not in roots]
    there = [root for root in more if may_be_there(context.workspace.scratch / root)]
    return msgspec.structs.replace(options, roots=[*roots, *there]) if there else options


def foretell_backup(
    context: NodeContext, notify: Notifier, options: SnapshotOptions
) -> BackupTaken:
    """What a backup would store now. Takes no lock and writes nothing."""
    require_at_scratch(context)
    require_backupable(context)
    started_s = context.monotonic()
    heard = Heard.so_far(notify)
    place = require_writable_store(context)
    options = _with_known_roots(context, place, options)
    parent, planned = plan_snapshot(context, place, read_catalogue(place), notify, options)
    counts = planned.scanned.counts()
    unchanged = planned.unchanged and parent is not None
    if parent is not None and is_wanted_anyway(options, parent.manifest):
        unchanged = False
    if parent and not options.allow_shrink:
        roots = options.roots or context.workspace.roots
        before = compared_with(place, parent, planned, roots)
        unread = heard.unsaved(notify)
        if options.purpose not in UNATTENDED:
            refuse_shrink(before, planned, roots, unread)
        elif not unchanged:
            foretell_shrink(before, planned, roots, unread, notify)
    return BackupTaken(
        snapshot=parent.manifest.id if unchanged and parent else None,
        kind="unchanged" if unchanged else "full" if planned.full else "incremental",
        parent=parent.base if parent else None,
        files=counts.files,
        bytes=counts.bytes,
        changed_files=planned.changed_files,
        changed_bytes=planned.changed_bytes,
        stored_bytes=0,
        duration_s=round(context.monotonic() - started_s, 3),
        dry_run=True,
        moved_files=planned.moved_files,
        removed_files=removed_files(planned),
        **unsaved_fields(heard.unsaved(notify)),
    )
