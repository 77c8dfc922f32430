"""`settle`, on the node: the workspace is there afterwards, by whatever was missing, and nothing else.

Most often nothing is: what creates, restores or compares is imported where it is needed.
"""

from __future__ import annotations

import msgspec

from scratchflow.model.errors.hop import WorkDiverged
from scratchflow.model.errors.workspace import WorkspaceKnown
from scratchflow.model.requests import Create, Settle
from scratchflow.model.results.restore import Settled
from scratchflow.model.text import printable
from scratchflow.node.autobackup.job_that_failed import tell_of_failed_job
from scratchflow.node.autobackup.other_profile import refuse_beside_other_profile
from scratchflow.node.base_note import is_of_this_job, note_taken_up, was_of_this_job
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.missing import missing_layer
from scratchflow.node.former_scratch import require_at_scratch
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot.allowed import refuse_links
from scratchflow.store.catalogue import LATEST, Catalogue, read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.names import find_snapshot
from scratchflow.store.retention.lineage import line_of, parents_known, read_noted
from scratchflow.store.retention.newer import is_unused, newer_elsewhere, work_of
from scratchflow.workspace.notes import noted_base, read_base, read_restoring
from scratchflow.workspace.usual_scratch import require_usable_scratch


def settle(context: NodeContext, notify: Notifier, request: Settle) -> Settled:
    """Finishes a restore, restores, creates, or leaves the workspace as it is; then looks for the profile's environment."""
    settled = _settled(context, notify, request)
    if request.dry_run:
        return settled
    layer = missing_layer(context.profile.environment, context.workspace.scratch)
    return msgspec.structs.replace(settled, missing_layer=layer)


def _settled(context: NodeContext, notify: Notifier, request: Settle) -> Settled:
    require_at_scratch(context)
    refuse_beside_other_profile(context)
    place = find_place(context.store, context.workspace.name)
    if not request.dry_run:
        require_usable_scratch(context.workspace, context.node)
        forget_old_listing(place)  # another node may have saved its work a second ago
    catalogue = read_catalogue(place)
    path = printable(context.workspace.path)
    if catalogue.newest_id is None and not request.beside:
        from scratchflow.node.create import create

        try:
            created = create(context, notify, Create(dry_run=request.dry_run), {})
        except WorkspaceKnown:
            catalogue = read_catalogue(place)  # another command has just made it: that is wanted
        else:
            return Settled(action="created", path=path, snapshot=created.snapshot)
    _refuse_renamed(context, place, notify)
    base = present_base(context, place)
    if base is not None and _is_enough(context, place, catalogue, base, request, notify):
        return _left_in_place(context, place, catalogue, base, request, notify)
    return _restored(context, place, catalogue, request, notify)


def _left_in_place(
    context: NodeContext,
    place: StoreDirectory,
    catalogue: Catalogue,
    base: str,
    request: Settle,
    notify: Notifier,
) -> Settled:
    if not request.dry_run:
        tell_of_failed_job(context, place, notify, is_left_as_it_was=True)
        if base == catalogue.newest_id:
            note_taken_up(context, place, notify)
    # No backup could be taken of it: better said now than by the first one that fails.
    refuse_links(context.workspace.scratch, context.workspace.roots)
    path, newer = printable(context.workspace.path), newer_elsewhere(place, catalogue, base)
    return Settled(action="nothing", path=path, snapshot=base, newer=newer)


def _restored(
    context: NodeContext,
    place: StoreDirectory,
    catalogue: Catalogue,
    request: Settle,
    notify: Notifier,
) -> Settled:
    path = printable(context.workspace.path)
    if request.dry_run and request.snapshot:  # it may be yet to come
        return Settled(action="restored", path=path, snapshot=request.snapshot)
    if not request.dry_run:
        tell_of_failed_job(context, place, notify, is_left_as_it_was=False)
    from scratchflow.node.restore.restore import restore
    from scratchflow.node.restore.source import RestoreOptions, tell_if_safety

    if request.snapshot is None and _began_restore_here(context, place):
        wanted = LATEST  # which a restore that was begun takes for its own snapshot
    elif request.snapshot:
        wanted = request.snapshot
    else:
        newest = find_snapshot(catalogue, LATEST)
        tell_if_safety(place, catalogue, newest, notify)
        wanted = newest.id
    options = RestoreOptions(snapshot=wanted, dry_run=request.dry_run, beside=request.beside)
    restored = restore(context, notify, options)
    # Going back over other work is a snapshot of its own; that is what is there now.
    snapshot = restored.committed_as or restored.snapshot
    return Settled(action="restored", path=path, snapshot=snapshot, restored=restored)


def _refuse_renamed(context: NodeContext, place: StoreDirectory, notify: Notifier) -> None:
    """WorkspaceRenamed when this job's workspace has another name now; of an earlier job's it is said."""
    from scratchflow.node.renamed import renamed_error, renamed_to

    base = noted_base(context.workspace)
    now = (
        None if read_restoring(context.workspace) else renamed_to(context.workspace, context.store)
    )
    if base is None or now is None:
        return
    path = context.workspace.path
    if context.job_id is None or was_of_this_job(context, place):
        raise renamed_error(context, now)
    message = (
        f"`{now}` on {context.node} was `{path}` in an earlier job; no snapshot has what changed in it"
        f" since {base.snapshot}, and nothing saves it"
    )
    notify.warn("workspace.renamed", b"", message)


def present_base(context: NodeContext, place: StoreDirectory) -> str | None:
    """The snapshot that the present work came from; None when what is there is not the present.

    What this very job restored, or stored something of, is the present, whatever the store got meanwhile.
    A copy from an earlier job may be behind, because work went on elsewhere: it is the present only
    while no snapshot is newer. A command that only looked at it changes nothing about that.
    """
    base = read_base(context.workspace, context.store)
    if base is None or not context.workspace.path.is_dir() or read_restoring(context.workspace):
        return None
    if context.job_id is None or base == read_catalogue(place).newest_id:
        return base
    return base if is_of_this_job(context, place) else None


def _began_restore_here(context: NodeContext, place: StoreDirectory) -> bool:
    """Whether this very job began a restore that did not finish: that is what its user wants back."""
    if read_restoring(context.workspace) is None:
        return False
    return context.job_id is None or was_of_this_job(context, place)


def _is_enough(
    context: NodeContext,
    place: StoreDirectory,
    catalogue: Catalogue,
    base: str,
    request: Settle,
    notify: Notifier,
) -> bool:
    """Whether the present has all that is wanted; WorkDiverged when it has something else instead.

    A present that somebody went back to is the work that it holds: what continues that, continues the present.
    One that was made empty and never used is no work.
    """
    wanted = request.snapshot
    if wanted is None:
        return True
    parents = {**request.parents, **parents_known(catalogue.snapshots, read_noted(place))}
    if wanted in line_of(base, parents):
        return True
    is_continued = {base, work_of(catalogue, base)} & {*line_of(wanted, parents)}
    may_be_replaced = is_continued or is_unused(place, catalogue, parents, base)
    if not may_be_replaced or _is_changed(context, notify):
        raise WorkDiverged(node=context.node, snapshot=base, other=wanted)
    return False


def _is_changed(context: NodeContext, notify: Notifier) -> bool:
    from scratchflow.node.backup import foretell_backup
    from scratchflow.node.snapshot.options import SnapshotOptions

    options = SnapshotOptions(allow_shrink=True, purpose="auto")
    return foretell_backup(context, notify, options).kind != "unchanged"
