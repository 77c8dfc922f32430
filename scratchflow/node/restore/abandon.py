"""`restore --abandon`: gives up a restore that did not finish, after saving what is there."""

from __future__ import annotations

from scratchflow.disk.durable import is_there
from scratchflow.disk.trees import rename_new
from scratchflow.model.errors.restore import NothingUnfinished
from scratchflow.model.results.restore import Restored
from scratchflow.model.text import printable
from scratchflow.node.base_note import note_half_restored, note_taken_up
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.saving import commit_restored, save_now
from scratchflow.node.restore.source import saved_roots
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.node.snapshot.take import Known, Saved
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.workspace.notes import Restoring, end_restoring, read_restoring
from scratchflow.workspace.staging import moved_aside, occupied_roots


def abandon(context: NodeContext, notify: Notifier, *, dry_run: bool) -> Restored:
    """Takes a snapshot of the workspace as it is, and ends the unfinished restore.

    A directory that the restore moved aside, and put nothing in place of, gets its name back.
    """
    unfinished = read_restoring(context.workspace)
    if unfinished is None:
        raise NothingUnfinished(path=context.workspace.path)
    roots = _roots_of(context, unfinished)
    saved, again = None, None
    if not dry_run:
        _bring_back(context, roots, unfinished)
        saved = _save(context, notify, roots, unfinished)
        again = _make_newest(context, notify, saved, unfinished) if saved else None
        end_restoring(context.workspace)
        if saved is None:
            note_half_restored(context, "")
    taken = saved.taken if saved else None
    return Restored(
        snapshot=(taken.snapshot if taken else None) or unfinished.snapshot,
        mode="nothing",
        target=printable(context.workspace.path),
        files=taken.files if taken else 0,
        bytes=taken.bytes if taken else 0,
        written_files=0,
        written_bytes=0,
        duration_s=0.0,
        safety_snapshot=taken.snapshot if taken else None,
        committed_as=again,
        abandoned=unfinished.snapshot,
        dry_run=dry_run,
    )


def _make_newest(
    context: NodeContext, notify: Notifier, saved: Saved, unfinished: Restoring
) -> str | None:
    """What is there is what this job goes on with: a new snapshot when the restore had written all of an older one.

    It returns the id of that snapshot, as a restore that was not cut short would have made it.
    """
    if saved.taken.kind != "unchanged":
        return None
    place = find_place(context.store, context.workspace.name)
    catalogue = read_catalogue(place)
    if saved.taken.snapshot == catalogue.newest_id:
        note_taken_up(context, place, notify)
        return None
    wanted = [one for one in catalogue.snapshots if one.id == unfinished.snapshot]
    if not wanted or saved.taken.snapshot != unfinished.snapshot:
        return None  # it was cut short before its first change
    known = Known(saved.index, saved.cache) if saved.cache else None
    return commit_restored(context, notify, wanted[0], known)


def _roots_of(context: NodeContext, unfinished: Restoring) -> list[str]:
    """All that the restore may have written to."""
    catalogue = read_catalogue(find_place(context.store, context.workspace.name))
    known = [one for one in catalogue.snapshots if one.id == unfinished.snapshot]
    return saved_roots(context, [root for one in known for root in one.also])


def _bring_back(context: NodeContext, roots: list[str], unfinished: Restoring) -> None:
    for root in roots:
        target = context.workspace.scratch / root
        aside = moved_aside(target, unfinished.snapshot)
        if aside is not None and not is_there(target):
            rename_new(aside, target)


def _save(
    context: NodeContext, notify: Notifier, roots: list[str], unfinished: Restoring
) -> Saved | None:
    if not occupied_roots(context.workspace.scratch, roots):
        return None
    message = f"what an abandoned restore of {unfinished.snapshot} left"
    options = SnapshotOptions(
        allow_shrink=True, message=message, purpose="safety", prune=False, roots=roots
    )
    return save_now(context, notify, options)
