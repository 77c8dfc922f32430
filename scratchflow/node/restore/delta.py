"""`restore` into a workspace that came from a snapshot: only what differs, after saving the rest."""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scratchflow.archive.compare.on_disk import OnDisk
from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.restore import apply_delta as deltas
from scratchflow.archive.restore.after_delta import cache_after
from scratchflow.archive.restore.displace import Displacer, Displacing, FirstChange
from scratchflow.archive.scan.cache import recheck_flags
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.scan.walk import special_kind
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK
from scratchflow.model.errors.restore import NotSaved
from scratchflow.model.results.restore import Restored
from scratchflow.node.base_note import (
    note_half_restored,
    note_restore_begun,
    note_restored,
    older_copy,
)
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.checks import (
    READABLE,
    keep_off_mounts,
    refuse_foreign,
    refuse_unreadable_roots,
)
from scratchflow.node.restore.items import tell_delta, warn_of_delta
from scratchflow.node.restore.saving import (
    held_by,
    safety_snapshot,
    save_now,
    saves_first,
    shown_aside,
    trusted_flags,
    would_save,
)
from scratchflow.node.restore.source import (
    BEFORE_FINISHING,
    BEFORE_RESTORING,
    RestoreOptions,
    Source,
    saved_roots,
)
from scratchflow.node.restore.steps import summary
from scratchflow.node.same_store import require_writable_store
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.node.snapshot.plan import PreparedScan, find_parent, scan_workspace
from scratchflow.node.snapshot.take import Known, Saved
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.workspace.notes import end_restoring, forget_base, noted_base

# What to do about a file that would be replaced and is in no snapshot.
_INCLUDED = "move it away, or take it out of `backup.exclude` or `.scratchignore` and run `scratchflow backup`"
_AT_REST = "wait until nothing writes to it"
_AWAY = "move it away"
_SAVED_KINDS = {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}


def restore_difference(
    context: NodeContext, notify: Notifier, source: Source, options: RestoreOptions, *, resume: bool
) -> tuple[Restored, Known | None]:
    """Writes only what differs. Until the first file is touched, an error changes nothing.

    The note comes before the safety snapshot: killed in between, the next run still knows which
    snapshot was wanted, though the newest is another one by then.
    """
    refuse_unreadable_roots(context.workspace.scratch, source)
    if options.dry_run:
        if saves_first(context, source):
            require_writable_store(context)
        return _foretell(context, notify, source), None
    first_change = FirstChange(lambda: _begin_changes(context, source.id))
    moved: list[bytes] = []

    def displacing(saved: Saved | None) -> Displacing:
        held = held_by(saved, notify) if saved else None
        return Displacing(held, source.id, notify.warn, moved, first_change, clears=True)

    # One that was cut short before its first change has left everything as it was.
    is_half = resume and noted_base(context.workspace) is None
    note_restore_begun(context, source.id, "delta")
    try:
        beside = options.beside or resume or older_copy(context) is not None
        saved = _save_changes(context, notify, source, beside=beside, is_half=is_half)
        scanned, flags = _scanned(context, notify, source, saved)
        base, cache = (saved.index, saved.cache) if saved else (None, None)
        same_scan = saved is not None and scanned is saved.scanned
        planned = saved.planned if saved and same_scan else None
        delta = deltas.find_delta(scanned, base, cache, source.index, notify.warn, planned)
        keep_off_mounts(scanned, delta, source, notify)
        refuse_foreign(scanned, delta, source)
        _refuse_losses(scanned, delta, source, notify)
        applied = deltas.apply(
            delta,
            scanned,
            source.index,
            source.open_archive,
            displacing=displacing(saved),
            progress=notify.progress,
        )
    except BaseException:
        if not resume and not first_change.happened:
            end_restoring(context.workspace)
        raise
    tell_delta(notify, delta, scanned, source.index)
    warn_of_delta(notify, delta, source.index)
    cache_now = cache_after(delta, applied.touched, scanned, flags, source.index)
    note_restored(context, notify, source.index, cache_now)
    end_restoring(context.workspace)
    mode = "full" if saved is None else "delta" if delta else "nothing"
    done = summary(
        context,
        source,
        mode,  # type: ignore[arg-type]  # one of the three words
        applied.written_files,
        applied.written_bytes,
        removed=applied.removed,
        safety_snapshot=safety_snapshot(saved) if saved else None,
        moved_aside=shown_aside(context, moved),
        was_half=is_half,
    )
    return done, Known(source.index, cache_now, before=None if delta else saved)


def _begin_changes(context: NodeContext, snapshot: str) -> None:
    forget_base(context.workspace)
    note_half_restored(context, snapshot)


def _foretell(context: NodeContext, notify: Notifier, source: Source) -> Restored:
    place = find_place(context.store, context.workspace.name)
    parent = find_parent(context, place, read_catalogue(place), notify)
    base, cache = (parent.index, parent.cache) if parent else (source.index, None)
    scanned = scan_workspace(context, notify, source.roots)
    found = deltas.find_delta(scanned, base, cache, source.index, notify.warn)
    delta = _without_equal(context, found, source.index)
    keep_off_mounts(scanned, delta, source, notify)
    refuse_foreign(scanned, delta, source)
    _refuse_losses(scanned, delta, source, notify)
    tell_delta(notify, delta, scanned, source.index, dry_run=True)
    warn_of_delta(notify, delta, source.index)
    size = sum(source.index.size[entry] for entry in delta.files)
    return summary(
        context,
        source,
        "delta" if delta else "nothing",
        len(delta.files) + len(delta.hardlinks),
        size,
        removed=sum(1 for _ in deltas.entries_removed(delta, scanned)),
        dry_run=True,
        would_save=would_save(context, source),
    )


def _without_equal(context: NodeContext, delta: deltas.Delta, index: Index) -> deltas.Delta:
    """The delta as it will be found after the safety snapshot, which reads what changed since the last one.

    A file that has the wanted content already is not written.
    """
    on_disk = OnDisk(index, os.fsencode(context.workspace.scratch))
    files, metadata = array("I"), array("I", delta.metadata)
    for entry in delta.files:
        try:
            if not on_disk.has_content(entry):
                files.append(entry)
            elif not on_disk.has_stamps(entry):
                metadata.append(entry)
        except OSError:  # it may not be read, or is not there
            files.append(entry)
    return msgspec.structs.replace(delta, files=files, metadata=metadata)


def _save_changes(
    context: NodeContext, notify: Notifier, source: Source, *, beside: bool, is_half: bool
) -> Saved | None:
    """A snapshot of all that the restore may touch, unless one already holds it, or there is nothing.

    Half of two states, or a copy beside which work went on elsewhere, is never the newest work, not even until the
    restore is through: a node that fails before would have it taken for that.
    """
    message = f"{BEFORE_FINISHING if is_half else BEFORE_RESTORING}{source.id}"
    if not saves_first(context, source):
        return None
    roots = saved_roots(context, source.roots)
    options = SnapshotOptions(
        allow_shrink=True,
        message=message,
        purpose="safety",
        prune=False,
        note_unchanged=False,
        roots=roots,
        brought=source.roots,
        beside=beside,
    )
    # A scan that went further, to a root that the snapshot turned out not to have, is of no use.
    if source.scan is None or source.scan.roots != roots:
        return save_now(context, notify, options)
    return save_now(context, notify, options, PreparedScan(source.scan, source.index))


def _scanned(
    context: NodeContext, notify: Notifier, source: Source, saved: Saved | None
) -> tuple[ScannedTree, array[int]]:
    """What lies where the source will, and what of it cannot be trusted.

    The scan that the safety snapshot was taken from says it, unless it went further: what lies
    beside the source's own roots must not be taken for something that the source lacks.
    """
    if saved and set(saved_roots(context, source.roots)) == set(source.roots):
        return saved.scanned, trusted_flags(saved)
    scanned = scan_workspace(context, notify, source.roots)
    return scanned, recheck_flags(scanned)


def _refuse_losses(
    scanned: ScannedTree, delta: deltas.Delta, source: Source, notify: Notifier
) -> None:
    """NotSaved for whatever would be replaced or removed though no snapshot could take it."""
    written = set(delta.files)
    for unread in notify.unreadable:
        path = unread.rstrip(b"/")
        entry = source.index.find(path)
        if _is_within(path, source.roots) and (entry is None or entry in written):
            raise _not_saved(source, os.fsdecode(path), "it may not be read", READABLE)
    for hidden, reason, remedy in _hidden(scanned, delta, source):
        raise _not_saved(source, hidden, reason, remedy)
    for path in deltas.unknown_in_the_way(delta, scanned):
        reason = "it is excluded from snapshots, and its directory is in the way of a file"
        raise _not_saved(source, os.fsdecode(path), reason, _INCLUDED)
    for path in deltas.changed_since_scan(delta, scanned):
        raise _not_saved(source, os.fsdecode(path), "it was changed just now", _AT_REST)


def _why_unsaved(mode: int) -> tuple[str, str]:
    """Why no snapshot has what is in the way, and what to do about it."""
    if stat.S_IFMT(mode) in _SAVED_KINDS:
        return "it is excluded from snapshots now", _INCLUDED
    return f"it is {special_kind(stat.S_IFMT(mode))}, which no snapshot takes", _AWAY


def _not_saved(source: Source, path: object, reason: str, remedy: str) -> NotSaved:
    return NotSaved(path=path, reason=reason, remedy=remedy, snapshot=source.id)


def _is_within(path: bytes, roots: list[str]) -> bool:
    return any((path + b"/").startswith(os.fsencode(root) + b"/") for root in roots)


def _hidden(
    scanned: ScannedTree, delta: deltas.Delta, source: Source
) -> Iterator[tuple[Path, str, str]]:
    """Files in the way that the scan passed over, unless they have the wanted content already."""
    index = source.index
    reader = Displacer(Displacing(None, source.id, lambda *_: None))
    # Step by step from scratch down: a path may be longer than the system takes at once.
    with DirectoryHandles(index, os.fsencode(scanned.scratch)) as handles:
        for entry in delta.absent:
            on_disk = scanned.scratch / os.fsdecode(index.path(entry))
            name = index.names[entry]
            try:
                directory = handles.get(index.group_of(entry))
                found = os.stat(name, dir_fd=directory, follow_symlinks=False)
                same = reader.has_content(directory, name, found, [(index, entry)])
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                yield on_disk, f"it cannot be looked at: {error.strerror}", READABLE
                continue
            is_directory = stat.S_ISDIR(found.st_mode)
            wants_directory = index.mode[entry] & KIND_MASK == DIRECTORY
            if not same and not (is_directory and wants_directory):
                yield on_disk, *_why_unsaved(found.st_mode)
