"""Takes one snapshot under the store's lock: what `backup`, `create` and a safety copy share."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from scratchflow.archive.compare.plan import Plan
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.scan.cache import ScanCache, recheck_flags
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree.index import RECHECK, Index
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import removed_in_words
from scratchflow.node.base_note import note_equal, was_left
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.snapshot import result as results
from scratchflow.node.snapshot.options import SnapshotOptions, is_wanted_anyway
from scratchflow.node.snapshot.plan import Parent, PreparedScan, plan_snapshot
from scratchflow.node.snapshot.result import Heard
from scratchflow.node.snapshot.roots import warn_of_roots
from scratchflow.node.snapshot.shrink import (
    UNATTENDED,
    compared_with,
    explained,
    keep_parent,
    keep_quietly,
    shrank_while_saved,
    shrink_since,
)
from scratchflow.store.catalogue import Catalogue, fresh_id, needed_archives, read_catalogue
from scratchflow.store.checks.verified import known_damage
from scratchflow.store.directory import MANIFEST_SUFFIX, StoreDirectory
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.retention.lineage import line_of, parents_known, read_noted
from scratchflow.workspace.notes import note_saving

if TYPE_CHECKING:
    from scratchflow.archive.write.written import Written
    from scratchflow.store.commit.commit import NewSnapshot


class Saved(msgspec.Struct, frozen=True):
    """The workspace as it was scanned, and the snapshot that holds it."""

    taken: BackupTaken
    scanned: ScannedTree
    flags: array[int]  # of the scan's entries: which of them the scan cannot be trusted with
    index: Index
    cache: ScanCache | None  # what is known about the index's entries
    planned: Plan | None = None  # how the scan compares with the index, where that is at hand


class Known(msgspec.Struct, frozen=True):
    """A snapshot that the workspace has just been made equal to."""

    index: Index
    cache: ScanCache
    # What held all roots before, also those that the snapshot lacks; None when anything had to be changed since.
    before: Saved | None = None


def take_snapshot(
    context: NodeContext, lock: StoreLock, notify: Notifier, options: SnapshotOptions
) -> BackupTaken:
    """Takes and commits one snapshot, or reports that nothing changed."""
    return save_workspace(context, lock, notify, options).taken


def save_workspace(
    context: NodeContext,
    lock: StoreLock,
    notify: Notifier,
    options: SnapshotOptions,
    prepared: PreparedScan | None = None,
) -> Saved:
    """Does the same, and returns the scan and index for further steps.

    A full snapshot that is only due, and for which the store has no room, is put off.
    """
    try:
        return _save_workspace(context, lock, notify, options, prepared)
    except _NoRoomForFull:
        message = "the store has no room for the full snapshot that is due; what changed is stored"
        notify.warn("backup.full_put_off", b"", message)
    return _save_workspace(context, lock, notify, msgspec.structs.replace(options, never_full=True))


# A copy that was left for another job's is not taken up again by these.
_NOT_BY_HAND = {"auto", "final"}


class _NoRoomForFull(Exception):
    """A full snapshot does not fit, and an incremental one would do."""


def _save_workspace(
    context: NodeContext,
    lock: StoreLock,
    notify: Notifier,
    options: SnapshotOptions,
    prepared: PreparedScan | None = None,
) -> Saved:
    started_s = context.monotonic()
    heard = Heard.so_far(notify)
    catalogue = read_catalogue(lock.place)
    parent, planned = plan_snapshot(context, lock.place, catalogue, notify, options, prepared)
    roots = options.roots or context.workspace.roots
    warn_of_roots(context, parent.manifest if parent else None, roots, notify, options.brought)
    if planned.unchanged and parent is not None and not is_wanted_anyway(options, parent.manifest):
        cache = planned.cache_if_unchanged()
        if options.note_unchanged:
            note_equal(context, lock.place, parent.manifest.id, cache, notify, is_own=False)
        took_s = context.monotonic() - started_s
        taken = results.unchanged(parent.manifest, took_s, heard.unsaved(notify))
        flags = cache.flags if cache else recheck_flags(planned.scanned)
        return Saved(taken, planned.scanned, flags, parent.index, cache or parent.cache, planned)
    shrunk = _guard_shrink(context, lock.place, parent, planned, options, notify, heard)
    snapshot = fresh_id(catalogue, context.now(), context.token(3))
    # Imported when there is something to write: most backups find nothing.
    from scratchflow.node.snapshot.manifest import new_manifest
    from scratchflow.store.commit.commit import NewSnapshot

    try:
        with NewSnapshot(lock, snapshot) as new:
            written = _write(planned, new, context, notify)
            base = parent.base if parent else None
            plain = new_manifest(context, base, written, options, snapshot)
            is_left = options.purpose in _NOT_BY_HAND and was_left(context, lock.place)
            beside = catalogue.newest_id is not None and (
                options.beside
                or (is_left and (options.purpose == "auto" or catalogue.newest_id != base))
                or _is_going(context, parent, written, options)
            )
            plain = msgspec.structs.replace(plain, shrunk=shrunk, beside=beside)
            if not beside:
                _note_saving(context, snapshot)
            manifest = _commit(new, plain, notify, heard, context.monotonic() - started_s)
    except NoSpace as error:
        if planned.is_only_due:
            raise _NoRoomForFull from error
        raise
    is_own = not (beside or is_left)
    note_equal(context, lock.place, snapshot, written.cache, notify, is_own=is_own)
    if options.purpose in {"asked", "final"} and not beside:
        _warn_if_newest_is_left_out(lock.place, catalogue, base, notify)
    if not beside and _is_going(context, parent, written, options):
        _keep_newest(context, lock, notify, catalogue)  # it went while the snapshot was committed
    pruned = _prune(lock, context, notify) if options.prune else ()
    took_s = context.monotonic() - started_s
    taken = results.taken(manifest, planned, written, took_s, heard.unsaved(notify))
    taken = msgspec.structs.replace(taken, pruned=list(pruned))
    return Saved(taken, planned.scanned, written.cache.flags, written.index, written.cache)


def _note_saving(context: NodeContext, snapshot: str) -> None:
    """For whoever comes next, if this run is ended between the commit and its note."""
    with suppress(OSError):  # a scratch that is full or gone: the snapshot matters more
        note_saving(context.workspace, snapshot)


def _warn_if_newest_is_left_out(
    place: StoreDirectory, catalogue: Catalogue, base: str | None, notify: Notifier
) -> None:
    """Tells that what was saved does not continue the newest snapshot, as when its node had an older copy."""
    newest = catalogue.newest_id
    if newest is None or base is None or newest == base:
        return
    if newest in line_of(base, parents_known(catalogue.snapshots, read_noted(place))):
        return  # the workspace's own snapshot was removed, and came from this one
    message = (
        f"the workspace continues snapshot {base}, not {newest}, which was the newest and is a fork now;"
        f" `scratchflow snapshots diff {newest}` shows the difference, `scratchflow restore {newest}` brings it back"
    )
    if unreadable := catalogue.newer_unreadable:
        way_out = unreadable.way_out(f"repair `{newest}{MANIFEST_SUFFIX}` in the store")
        message = (
            f"the workspace continues snapshot {base}, not {newest}, which was the newest and cannot be read:"
            f" {unreadable.reason}; {way_out}, then `scratchflow restore {newest}` brings it back"
        )
    notify.warn("workspace.behind", b"", message)


def _is_going(
    context: NodeContext, parent: Parent | None, written: Written, options: SnapshotOptions
) -> bool:
    """Whether the workspace is being removed: most of it is missing in what was saved, or all of it by now."""
    if not options.scratch_goes or parent is None:
        return False
    if not context.workspace.path.is_dir():
        return True
    return shrank_while_saved(parent.manifest, parent.index, written.index, context.workspace.roots)


def _keep_newest(
    context: NodeContext, lock: StoreLock, notify: Notifier, before: Catalogue
) -> None:
    """Makes the snapshot that was the newest one before the newest one again, under a new id.

    For one that is committed already: a manifest never changes, so it cannot be marked as a fork any more.
    """
    newest = before.newest_readable
    if newest is None or newest.id != before.newest_id or newest.id in before.damaged:
        message = f"`{before.newest_id}` was the newest snapshot, and cannot be read; restore it by its id"
        notify.warn("snapshots.unreadable", b"", message)
        return
    try:
        index = open_index(lock.place.archive(newest.id))
    except SnapshotDamaged as error:
        notify.warn("snapshots.damaged", b"", f"{error}; it is not the newest snapshot any more")
        return
    # Nothing on this disk is known about its files: every one of them would have to be read.
    cache = ScanCache(newest.id)
    cache.flags = array("B", bytes([RECHECK]) * len(index))
    options = SnapshotOptions(message=f"the newest one again: {newest.id}", purpose="restored")
    snapshot = _commit_tree(context, lock, notify, newest, Known(index, cache), options)[0]
    why = "went with its job while it was saved"
    notify.remark(f"`{context.workspace.path}` {why}; `{snapshot}` is the newest snapshot again")


def commit_again(
    context: NodeContext,
    lock: StoreLock,
    notify: Notifier,
    source: Manifest,
    known: Known,
    options: SnapshotOptions,
) -> str | None:
    """The state of `source`, which the workspace is known to equal, as a new and newest snapshot.

    Stores no content and looks at no file. None when `source` is gone from the store meanwhile, or
    needs an archive that is damaged: then the files themselves have to be stored.
    """
    catalogue = read_catalogue(lock.place)
    if all(one.id != source.id for one in catalogue.snapshots) or source.id in catalogue.damaged:
        return None
    if known_damage(lock.place, needed_archives(source)) is not None:
        return None
    snapshot, cache = _commit_tree(context, lock, notify, source, known, options)
    note_equal(context, lock.place, snapshot, cache, notify)
    if pruned := _prune(lock, context, notify):
        notify.remark(removed_in_words(pruned))
    return snapshot


def _commit_tree(
    context: NodeContext,
    lock: StoreLock,
    notify: Notifier,
    source: Manifest,
    known: Known,
    options: SnapshotOptions,
) -> tuple[str, ScanCache]:
    """The tree of `source` under a new id, with the cache for it. Stores no content."""
    started_s = context.monotonic()
    heard = Heard.so_far(notify)
    snapshot = fresh_id(read_catalogue(lock.place), context.now(), context.token(3))
    from scratchflow.archive.write.written import write_again
    from scratchflow.node.snapshot.manifest import new_manifest
    from scratchflow.store.commit.commit import NewSnapshot

    with NewSnapshot(lock, snapshot) as new:
        written = write_again(known.index, known.cache, new.file, archive_id=snapshot)
        plain = new_manifest(context, source.id, written, options, snapshot)
        # What it holds is what `source` holds, whatever the profile saves by now.
        plain = msgspec.structs.replace(plain, also=source.also)
        _commit(new, plain, notify, heard, context.monotonic() - started_s)
    return snapshot, written.cache


def _guard_shrink(
    context: NodeContext,
    place: StoreDirectory,
    parent: Parent | None,
    planned: Plan,
    options: SnapshotOptions,
    notify: Notifier,
    heard: Heard,
) -> bool:
    """Whether most of the files are missing that there were, and nobody was there to confirm it.

    Files that cannot be read were not deleted: the rest is saved, and the parent is kept.
    """
    is_safety = options.purpose == "safety"
    if (
        is_safety and options.beside
    ):  # half of two states, or a copy that fell behind: no loss of the newest work
        return False
    if parent is None or (options.allow_shrink and not is_safety):
        return False
    roots = options.roots or context.workspace.roots
    parent = compared_with(place, parent, planned, roots)
    shrink = shrink_since(parent.manifest, parent.index, planned, roots)
    if shrink is None:
        return False
    unread = heard.unsaved(notify)
    shrink = explained(shrink, parent.index, planned, unread)
    if is_safety:  # nobody has agreed yet, and the node may be gone before anybody is asked
        keep_quietly(place, parent.manifest, shrink)
        return True
    if options.purpose not in UNATTENDED:
        refuse_shrink(parent, planned, roots, unread)
    keep_parent(place, parent.manifest, shrink, notify)
    return True


def refuse_shrink(
    parent: Parent, planned: Plan, roots: Sequence[str], unreadable: list[bytes]
) -> None:
    """ShrinkGuard when most of the parent's files are gone, and not only unreadable."""
    shrink = shrink_since(parent.manifest, parent.index, planned, roots, unreadable)
    if shrink:
        raise explained(shrink, parent.index, planned, unreadable).refusal(parent.manifest.id)


def _commit(
    new: NewSnapshot, plain: Manifest, notify: Notifier, heard: Heard, took_s: float
) -> Manifest:
    notify.phase("verify")
    complete = msgspec.structs.replace(
        plain,
        warnings=notify.warnings - heard.warnings,
        **results.unsaved_fields(heard.unsaved(notify)),
        duration_s=round(took_s, 3),
    )
    return new.commit(complete)


def _write(planned: Plan, new: NewSnapshot, context: NodeContext, notify: Notifier) -> Written:
    from scratchflow.archive.write.writer import write

    return write(
        planned,
        new.file,
        archive_id=new.snapshot,
        level=context.profile.backup.level,
        warn=notify.warn,
        progress=notify.progress,
        item=notify.item if notify.wants_items else None,
    )


def _prune(lock: StoreLock, context: NodeContext, notify: Notifier) -> tuple[str, ...]:
    """Prunes, and returns what was removed. The new snapshot is already committed, so errors are warnings."""
    from scratchflow.store.retention.prune import prune

    try:
        plan = prune(lock, context.profile.backup, context.now())
    except ScratchflowError as error:
        notify.warn("snapshots.not_pruned", b"", f"old snapshots stay: {error}")
        return ()
    if plan.blocked:
        notify.remark(f"no old snapshot was removed: {plan.blocked}")
    return plan.removed
