"""Restores into the workspace itself: all of it, only the difference, or some paths."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from scratchflow.archive.compare.diff import difference
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore.displace import Displacing, FirstChange
from scratchflow.archive.restore.extract import would_extract
from scratchflow.archive.restore.standing_names import all_stand
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.disk.durable import may_be_there
from scratchflow.disk.trees import remove_tree
from scratchflow.model.errors.restore import FileNeedsRoom, TargetNotEmpty
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.workspace import NoWorkspaceForPart, WorkspaceBehind
from scratchflow.model.results.restore import Restored
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import printable
from scratchflow.node.base_note import (
    note_equal,
    note_half_restored,
    note_restore_begun,
    note_restored,
    older_copy,
)
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.renamed import warn_of_renamed
from scratchflow.node.restore.checks import (
    is_filled_in_place,
    refuse_closed_paths,
    refuse_closed_roots,
    refuse_mounted_paths,
    refuse_moving_mounts,
    refuse_work_of_others,
)
from scratchflow.node.restore.delta import restore_difference
from scratchflow.node.restore.saving import (
    commit_restored,
    held_by,
    safety_snapshot,
    save_now,
    saves_first,
    shown_aside,
    would_save,
)
from scratchflow.node.restore.source import (
    RestoreOptions,
    Source,
    is_difference,
    saved_roots,
)
from scratchflow.node.restore.steps import (
    aside_id,
    chosen_part,
    extract_from,
    foretell_part,
    summary,
)
from scratchflow.node.same_store import open_store, require_writable_store
from scratchflow.node.snapshot.allowed import refuse_links
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.node.snapshot.plan import scan_workspace
from scratchflow.node.snapshot.take import Known, Saved
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.workspace.notes import (
    Restoring,
    end_restoring,
    forget_base,
    read_base,
    read_restoring,
)
from scratchflow.workspace.staging import begin_incoming, occupied_roots, swap_in
from scratchflow.workspace.workspace import Workspace


def restore_all(
    context: NodeContext,
    notify: Notifier,
    options: RestoreOptions,
    source: Source,
    catalogue: Catalogue,
    interrupted: Restoring | None,
) -> tuple[Restored, Known | None]:
    """Only the difference, where the workspace is known to be one; else everything."""
    refuse_links(context.workspace.scratch, source.roots)
    warn_of_renamed(context, notify)
    if source.manifest and (
        is_difference(context, catalogue, interrupted, source.roots)
        or _is_filled_in_place(context, source)
    ):
        resume = interrupted is not None
        return restore_difference(context, notify, source, options, resume=resume)
    return _restore_everything(context, notify, options, source, interrupted)


def _is_filled_in_place(context: NodeContext, source: Source) -> bool:
    """Whether an empty workspace is a mount point: then everything is a difference from nothing."""
    scratch = context.workspace.scratch
    return not occupied_roots(scratch, source.roots) and is_filled_in_place(scratch, source.roots)


def foretell_newest(
    context: NodeContext, restored: Restored, catalogue: Catalogue, source: Source
) -> Restored:
    """Says in a dry run what `make_newest` would do, and refuses what it would be refused for."""
    if catalogue.newest_id == restored.snapshot:
        return restored
    again = _restored_before(catalogue, source)
    if again and restored.mode == "nothing" and not restored.would_save:
        place = find_place(context.store, context.workspace.name)
        is_present = read_base(context.workspace, context.store) == again
        if is_present or _newest_like(place, catalogue, source):
            return restored
    require_writable_store(context)
    return msgspec.structs.replace(restored, would_commit=catalogue.newest_id is not None)


def make_newest(
    context: NodeContext,
    notify: Notifier,
    restored: Restored,
    source: Source,
    manifest: Manifest,
    known: Known | None,
) -> Restored:
    """Going back is a step of history too: what was asked for is what `latest` brings next time."""
    place = open_store(context, notify)
    catalogue = read_catalogue(place)
    if catalogue.newest_id in {None, restored.snapshot}:
        return restored
    if known and restored.mode == "nothing" and (same := _newest_like(place, catalogue, source)):
        note_equal(context, place, same, known.cache.renamed(same), notify)
        return restored
    if known and known.before and _is_held_by_newest(known.before, catalogue, source):
        note_equal(context, place, catalogue.newest_id, known.before.cache, notify)
        return restored
    whole = known if known and _covers(source, context.workspace) else None
    snapshot = commit_restored(context, notify, manifest, whole)
    return msgspec.structs.replace(restored, committed_as=snapshot)


def _newest_like(place: StoreDirectory, catalogue: Catalogue, source: Source) -> str | None:
    """The newest snapshot, if it is what an earlier restore made of the same one: once more would add nothing."""
    newest = _restored_before(catalogue, source)
    if newest is None:
        return None
    index = open_index(place.archive(newest), source.index)
    return None if any(difference(source.index, index)) else newest


def _restored_before(catalogue: Catalogue, source: Source) -> str | None:
    """The newest snapshot, if a restore of this one was what it was taken for."""
    newest = catalogue.newest_readable
    if newest is None or newest.id != catalogue.newest_id or newest.id in catalogue.damaged:
        return None
    is_again = (newest.purpose, newest.parent) == ("restored", source.id)
    return newest.id if is_again else None


def _is_held_by_newest(before: Saved, catalogue: Catalogue, source: Source) -> bool:
    """Whether that newest snapshot held all that is here, with directories of `backup.also` that the restored one lacks."""
    is_unchanged = before.taken.kind == "unchanged"
    return is_unchanged and before.taken.snapshot == _restored_before(catalogue, source)


def _covers(source: Source, workspace: Workspace) -> bool:
    """Whether nothing else is there that a backup would save."""
    others = [workspace.scratch / root for root in workspace.roots if root not in source.roots]
    return not any(map(may_be_there, others))


def _restore_everything(
    context: NodeContext,
    notify: Notifier,
    options: RestoreOptions,
    source: Source,
    interrupted: Restoring | None,
) -> tuple[Restored, Known | None]:
    """Builds beside the workspace and renames into place."""
    occupied = occupied_roots(context.workspace.scratch, source.roots)
    if occupied and not options.force and not interrupted:
        refuse_work_of_others(context)
    if occupied and not options.replace and not interrupted:
        refusal = TargetNotEmpty if source.manifest else FileNeedsRoom
        raise refusal(target=context.workspace.scratch / occupied[0])
    refuse_moving_mounts(context.workspace.scratch, source.roots, source)
    refuse_closed_roots(context.workspace.scratch, source)
    counts = source.index.counts()
    if options.dry_run:
        chosen = _roots_only(source)
        planned = would_extract(source.index, chosen)
        return foretell_part(context, notify, source, chosen, planned), None
    aside = aside_id(context, source)
    incoming = begin_incoming(context.workspace, context.token(4))
    try:
        extracted = extract_from(source, incoming, notify, _roots_only(source), existing="none")
        if source.manifest and extracted.files != counts.files:
            reason = f"{extracted.files} files came out instead of {counts.files}"
            raise SnapshotDamaged(snapshot=source.id, reason=reason)
        # Nobody knows of the files before they are swapped in: what is written to them later has a
        # later change time than this.
        verified_ns = time.time_ns()
        moved = _swap_in(context, source, incoming, aside)
        known = _known_now(context, notify, source, verified_ns) if source.manifest else None
        end_restoring(context.workspace)
    finally:
        remove_tree(incoming)
    aside_paths = list(map(printable, moved))
    done = summary(
        context, source, "full", extracted.files, extracted.bytes, moved_aside=aside_paths
    )
    return done, known


def _swap_in(context: NodeContext, source: Source, incoming: Path, aside: str) -> list[str]:
    """Takes the workspace's place. When the first rename fails, nothing was touched: no note stays."""
    first_change = FirstChange()
    resumed = read_restoring(context.workspace) is not None
    note_restore_begun(context, source.id, "full")
    forget_base(context.workspace)
    note_half_restored(context, source.id)
    try:
        return swap_in(incoming, context.workspace.scratch, source.roots, aside, first_change)
    except OSError:
        if not resumed and not first_change.happened:
            end_restoring(context.workspace)
            note_half_restored(context, "")
        raise


def _known_now(
    context: NodeContext, notify: Notifier, source: Source, verified_ns: int
) -> Known | None:
    """Notes what the workspace equals now, with a scan of it."""
    scanned = scan_workspace(context, notify, source.roots)
    cache = ScanCache.if_equal(scanned, source.index, verified_ns)
    note_restored(context, notify, source.index, cache)
    return Known(source.index, cache) if cache else None


def _roots_only(source: Source) -> Selection | None:
    """A foreign file may bring more than the workspace; what is not ours to place stays out."""
    return None if source.manifest else Selection(source.index, source.roots)


def _refuse_older_copy(context: NodeContext) -> None:
    """WorkspaceBehind when what is there was left by an earlier job, and work went on elsewhere.

    A safety snapshot of it would count as the newest work, and the newest one as a fork.
    """
    older = older_copy(context)
    if older is not None:
        base, newest = older
        raise WorkspaceBehind(path=context.workspace.path, snapshot=base, newest=newest)


def restore_paths(
    context: NodeContext, notify: Notifier, options: RestoreOptions, source: Source
) -> Restored:
    """A part, into the workspace as it is: every chosen file replaced, everything else untouched.

    When all of it is there already, nothing is written, and no safety snapshot is taken.
    """
    select = chosen_part(context, source, options)
    refuse_links(context.workspace.scratch, source.roots)
    if not context.workspace.path.is_dir():
        raise NoWorkspaceForPart(path=context.workspace.path)
    _refuse_older_copy(context)
    refuse_mounted_paths(context.workspace.scratch, source, select)
    refuse_closed_paths(context.workspace.scratch, source, select)
    if select and all_stand(source.index, select.entries, context.workspace.scratch):
        return summary(context, source, "nothing", 0, 0, dry_run=options.dry_run, is_part=True)
    if options.dry_run:
        if saves_first(context, source):
            require_writable_store(context)
        planned = would_extract(source.index, select, context.workspace.scratch)
        saves = would_save(context, source)
        return foretell_part(
            context, notify, source, select, planned, mode="delta", would_save=saves
        )
    saved = _save_before_paths(context, notify, source, options)
    held = held_by(saved, notify) if saved else None
    displacing = Displacing(held, aside_id(context, source), notify.warn)
    extracted = extract_from(source, context.workspace.scratch, notify, select, existing=displacing)
    return summary(
        context,
        source,
        "delta",
        extracted.files,
        extracted.bytes,
        safety_snapshot=safety_snapshot(saved) if saved else None,
        moved_aside=shown_aside(context, displacing.moved),
    )


def _save_before_paths(
    context: NodeContext, notify: Notifier, source: Source, wanted: RestoreOptions
) -> Saved | None:
    """A snapshot of all that may be replaced; None when nothing at all is there."""
    if not saves_first(context, source):
        return None
    message = f"before restoring paths of {source.id}"
    options = SnapshotOptions(
        allow_shrink=True,
        message=message,
        purpose="safety",
        prune=False,
        roots=saved_roots(context, source.roots),
        beside=wanted.beside,
    )
    return save_now(context, notify, options)
