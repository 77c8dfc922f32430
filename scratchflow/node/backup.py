"""`backup`: take a snapshot, full or incremental, whichever is right."""

from __future__ import annotations

import time

import msgspec

from scratchflow.disk.durable import may_be_there
from scratchflow.model.errors import ScratchflowError
from scratchflow.model.requests import Backup
from scratchflow.model.results import BackupTaken
from scratchflow.model.text import printable
from scratchflow.node.backup_result import Heard, removed_files, unsaved_fields
from scratchflow.node.context import Here
from scratchflow.node.progress import Teller
from scratchflow.node.same_store import open_store
from scratchflow.node.shrink import UNATTENDED
from scratchflow.node.snapshot import (
    Wish,
    is_wanted_anyway,
    plan_snapshot,
    refuse_shrink,
    require_backupable,
    require_workspace,
    take_snapshot,
    unfinished_restore,
)
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.commit.reserve import ensure_reserve
from scratchflow.store.directory import Place, find_place
from scratchflow.store.rescue_files import RESCUE_NAME, put_rescue
from scratchflow.store.retention.sweep import sweep
from scratchflow.workspace.notes import read_base


def requested_backup(here: Here, teller: Teller, asked: Backup) -> BackupTaken:
    """What `backup` asks for: the snapshot, or what it would be."""
    options = Wish(
        full=asked.full,
        allow_shrink=asked.allow_shrink,
        message=printable(asked.message),
        purpose=asked.purpose,
    )
    return (foretell_backup if asked.dry_run else backup)(here, teller, options)


def backup(here: Here, teller: Teller, wish: Wish) -> BackupTaken:
    """Takes a snapshot under the store's lock, after clearing away what killed runs left."""
    if unfinished_restore(here) is None:  # while one runs, the workspace may be away for a moment
        require_workspace(here)
    with here.alone(teller.remark):
        require_backupable(
            here
        )  # a restore that runs is waited for; one that was interrupted is not
        place = open_store(here)
        with here.lock(place, "scratchflow backup", remark=teller.remark) as lock:
            sweep(lock, time.time())
            ensure_reserve(place)
            taken = take_snapshot(here, lock, teller, _with_known_roots(here, place, wish))
            leave_rescue(place, teller)
            return taken


def leave_rescue(place: Place, teller: Teller) -> None:
    """Puts the files beside the snapshots that restore them without scratchflow.

    The snapshot is safe by then: trouble here is a warning.
    """
    try:
        put_rescue(place)
    except (ScratchflowError, OSError) as error:  # OSError: our own copy cannot be read
        teller.warn("rescue.failed", b"", f"`{RESCUE_NAME}` is not in the store: {error}")


def _with_known_roots(here: Here, place: Place, wish: Wish) -> Wish:
    """The last backup of a node also saves what the snapshot before it held beside the workspace.

    The settings may have changed since; what is on the node is gone afterwards.
    """
    base = read_base(here.workspace, here.store) if wish.purpose == "final" else None
    if base is None:
        return wish
    roots = list(wish.roots or here.workspace.roots)
    known = [one for one in read_catalogue(place).snapshots if one.id == base]
    more = [root for one in known for root in one.also if root not in roots]
    there = [root for root in more if may_be_there(here.workspace.scratch / root)]
    return msgspec.structs.replace(wish, roots=[*roots, *there]) if there else wish


def foretell_backup(here: Here, teller: Teller, wish: Wish) -> BackupTaken:
    """What a backup would store now. Takes no lock and writes nothing."""
    require_backupable(here)
    started_s = here.monotonic()
    heard = Heard.so_far(teller)
    place = find_place(here.store, here.workspace.name)
    parent, planned = plan_snapshot(here, place, read_catalogue(place), teller, wish)
    counts = planned.scanned.counts()
    if parent and not wish.allow_shrink and wish.purpose not in UNATTENDED:
        roots = wish.roots or here.workspace.roots
        refuse_shrink(parent, planned, roots, heard.unsaved(teller))
    unchanged = planned.unchanged and parent is not None
    if parent is not None and is_wanted_anyway(wish, parent.manifest):
        unchanged = False
    return BackupTaken(
        snapshot=parent.manifest.id if unchanged and parent else None,
        kind="unchanged" if unchanged else "full" if planned.full else "incremental",
        parent=parent.manifest.id if parent else None,
        files=counts.files,
        bytes=counts.bytes,
        changed_files=planned.changed_files,
        changed_bytes=planned.changed_bytes,
        stored_bytes=0,
        duration_s=round(here.monotonic() - started_s, 3),
        dry_run=True,
        removed_files=removed_files(planned),
        **unsaved_fields(heard.unsaved(teller)),
    )
