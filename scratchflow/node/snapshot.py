"""Taking one snapshot under the store's lock: what `backup`, `create` and a safety copy share."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from scratchflow import __version__
from scratchflow.archive.compare.plan import Plan, plan
from scratchflow.archive.read.reader import open_index
from scratchflow.archive.scan.cache import ScanCache, recheck_flags
from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.scan import Scan, ScannedTree
from scratchflow.archive.tree.index import RECHECK, Index
from scratchflow.archive.tree.tree import Counts
from scratchflow.disk.durable import is_there
from scratchflow.model.errors import (
    NoSpace,
    RestoreIncomplete,
    RestoreUnfinishable,
    ScratchflowError,
    SnapshotDamaged,
    WorkspaceFailed,
    WorkspaceIsLink,
    WorkspaceMissing,
)
from scratchflow.model.results import BackupTaken
from scratchflow.model.snapshot import MANIFEST_SCHEMA, Manifest, Purpose
from scratchflow.model.text import removed_in_words
from scratchflow.node import backup_result as results
from scratchflow.node.backup_result import Heard
from scratchflow.node.base_note import note_equal
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.roots import warn_of_roots
from scratchflow.node.shrink import UNATTENDED, keep_parent, shrink_since
from scratchflow.store.catalogue import (
    Catalogue,
    begun_at,
    fresh_id,
    needed_archives,
    read_catalogue,
)
from scratchflow.store.checks.verified import known_damage
from scratchflow.store.commit.commit import NewSnapshot
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.retention.lineage import lineage_of, newest_full, read_noted
from scratchflow.store.retention.prune import prune
from scratchflow.workspace.notes import Restoring, cache_path, read_base, read_restoring

if TYPE_CHECKING:
    from scratchflow.archive.write.writer import Written

# A chain of incrementals of which less than this is still in use is not worth keeping.
MIN_LIVE_SHARE = 0.5


class SnapshotOptions(msgspec.Struct, frozen=True):
    """How the user wants the snapshot taken."""

    full: bool = False
    allow_shrink: bool = False
    message: str = ""
    purpose: Purpose = "asked"
    # Also when nothing changed: to make a state that was restored the newest one.
    even_unchanged: bool = False
    # Not while a restore is about to read a snapshot that the rules no longer keep.
    prune: bool = True
    # Not when whatever is noted will be wrong in a moment; what is noted already is still true.
    note_unchanged: bool = True
    # Not even when a full one is due: there was no room for it.
    never_full: bool = False
    # The snapshot that is the newest one now stays that: what is saved is a copy that fell behind.
    keeps_newest: bool = False
    # What to save, by name beneath scratch; by default what the profile says.
    roots: Sequence[str] = ()


class Parent(msgspec.Struct, frozen=True):
    """The snapshot that the workspace came from, and what is known about each of its files."""

    manifest: Manifest
    index: Index
    cache: ScanCache | None


class Saved(msgspec.Struct, frozen=True):
    """The workspace as it was scanned, and the snapshot that holds it."""

    taken: BackupTaken
    scanned: ScannedTree
    flags: array[int]  # of the scan's entries: which of them the scan cannot be trusted with
    index: Index
    cache: ScanCache | None  # what is known about the index's entries


class PreparedScan(msgspec.Struct, frozen=True):
    """What was begun or read before there was a lock: a scan, and an index like the parent's."""

    scan: Scan
    index: Index


class Known(msgspec.Struct, frozen=True):
    """A snapshot that the workspace has just been made equal to."""

    index: Index
    cache: ScanCache


def require_workspace(context: NodeContext) -> None:
    """WorkspaceMissing, or WorkspaceIsLink, when there is nothing that could be backed up."""
    try:
        refuse_links(context.workspace.scratch, context.workspace.roots)
        is_there = context.workspace.path.is_dir()
    except OSError as error:
        path = error.filename or context.workspace.path
        raise WorkspaceFailed(path=path, reason=error.strerror) from None
    if not is_there:
        raise WorkspaceMissing(path=context.workspace.path)


def require_backupable(context: NodeContext) -> None:
    """A workspace that is not there, or is half of two states, is not backed up."""
    interrupted = unfinished_restore(context)
    if interrupted:
        raise incomplete(context, interrupted)
    require_workspace(context)


def incomplete(context: NodeContext, interrupted: Restoring) -> RestoreIncomplete:
    """The error for a restore that did not finish; another one if it never can."""
    fields = {"snapshot": interrupted.snapshot, "target": context.workspace.path}
    try:
        place = find_place(context.store, context.workspace.name)
        is_gone = place.directory.is_dir() and not is_there(place.manifest(interrupted.snapshot))
    except (OSError, ScratchflowError):  # a store that cannot be read says nothing about it
        is_gone = False
    return RestoreUnfinishable(**fields) if is_gone else RestoreIncomplete(**fields)


def unfinished_restore(context: NodeContext) -> Restoring | None:
    """The restore that runs, or was interrupted: who has the workspace's lock knows which."""
    try:
        return read_restoring(context.workspace)
    except OSError as error:
        raise WorkspaceFailed(path=context.workspace.path, reason=error.strerror) from None


def refuse_links(scratch: Path, roots: Sequence[str]) -> None:
    """The scan follows no symlink: of a root that is one, only the link would be saved.

    What lies in a directory that may not be read is left for the scan to warn of.
    """
    for root in roots:
        path = scratch
        for part in root.split("/"):
            path /= part
            try:
                is_link = path.is_symlink()
            except PermissionError:
                break
            if is_link:
                raise WorkspaceIsLink(path=path)


def take_snapshot(
    context: NodeContext, lock: StoreLock, notify: Notifier, options: SnapshotOptions
) -> BackupTaken:
    """One snapshot, committed and noted, or the word that none was needed."""
    return save_workspace(context, lock, notify, options).taken


def save_workspace(
    context: NodeContext,
    lock: StoreLock,
    notify: Notifier,
    options: SnapshotOptions,
    prepared: PreparedScan | None = None,
) -> Saved:
    """The same, with what was found on the way for whoever goes on from there.

    A full snapshot that is only due, and for which the store has no room, is put off.
    """
    try:
        return _save_workspace(context, lock, notify, options, prepared)
    except _NoRoomForFull:
        message = "the store has no room for the full snapshot that is due; what changed is stored"
        notify.warn("backup.full_put_off", b"", message)
    return _save_workspace(context, lock, notify, msgspec.structs.replace(options, never_full=True))


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
    warn_of_roots(context, parent.manifest if parent else None, roots, notify)
    if planned.unchanged and parent is not None and not is_wanted_anyway(options, parent.manifest):
        cache = planned.cache_if_unchanged()
        if options.note_unchanged:
            note_equal(context, lock.place, parent.manifest.id, cache, notify, is_own=False)
        took_s = context.monotonic() - started_s
        taken = results.unchanged(parent.manifest, took_s, heard.unsaved(notify))
        flags = cache.flags if cache else recheck_flags(planned.scanned)
        return Saved(taken, planned.scanned, flags, parent.index, cache or parent.cache)
    shrunk = _guard_shrink(context, lock.place, parent, planned, options, notify, heard)
    snapshot = fresh_id(catalogue, context.now(), context.token(3))
    try:
        with NewSnapshot(lock, snapshot) as new:
            written = _write(planned, new, context, notify)
            plain = _manifest(
                context, parent.manifest if parent else None, written, options, snapshot
            )
            plain = msgspec.structs.replace(plain, shrunk=shrunk)
            manifest = _commit(new, plain, notify, heard, context.monotonic() - started_s)
    except NoSpace as error:
        if planned.is_only_due:
            raise _NoRoomForFull from error
        raise
    is_own = not options.keeps_newest
    note_equal(context, lock.place, snapshot, written.cache, notify, is_own=is_own)
    if options.keeps_newest:
        _keep_newest(context, lock, notify, catalogue)
    pruned = _prune(lock, context, notify) if options.prune else ()
    took_s = context.monotonic() - started_s
    taken = results.taken(manifest, planned, written, took_s, heard.unsaved(notify))
    taken = msgspec.structs.replace(taken, pruned=list(pruned))
    return Saved(taken, planned.scanned, written.cache.flags, written.index, written.cache)


def _keep_newest(
    context: NodeContext, lock: StoreLock, notify: Notifier, before: Catalogue
) -> None:
    """Makes the snapshot that was the newest one before the newest one again, under a new id."""
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
    notify.remark(
        f"`{context.workspace.path}` is an old copy; `{snapshot}` is the newest snapshot again"
    )


def is_wanted_anyway(options: SnapshotOptions, parent: Manifest) -> bool:
    """Whether a snapshot is taken though nothing changed: a name that a person gives must not be lost."""
    has_name = parent.purpose == "asked" and parent.message == options.message
    gets_name = options.purpose == "asked" and options.message != "" and not has_name
    return options.even_unchanged or gets_name


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
    with NewSnapshot(lock, snapshot) as new:
        from scratchflow.archive.write.writer import write_again

        written = write_again(known.index, known.cache, new.file, archive_id=snapshot)
        plain = _manifest(context, source, written, options, snapshot)
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
    """Whether most of the parent's files are missing and nobody was there, or had, to agree to that.

    What only cannot be read was not deleted: the rest is saved, and the parent is kept.
    """
    if parent is None or options.allow_shrink:
        return False
    roots = options.roots or context.workspace.roots
    shrink = shrink_since(parent.manifest, parent.index, planned, roots)
    if shrink is None:
        return False
    if options.purpose not in UNATTENDED:
        refuse_shrink(parent, planned, roots, heard.unsaved(notify))
    keep_parent(place, parent.manifest, shrink, notify)
    return True


def refuse_shrink(
    parent: Parent, planned: Plan, roots: Sequence[str], unreadable: list[bytes]
) -> None:
    """ShrinkGuard when most of the parent's files are gone, and not only unreadable."""
    shrink = shrink_since(parent.manifest, parent.index, planned, roots, unreadable)
    if shrink:
        raise shrink.refusal(parent.manifest.id)


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


def find_parent(
    context: NodeContext,
    place: StoreDirectory,
    catalogue: Catalogue,
    notify: Notifier,
    like: Index | None = None,
) -> Parent | None:
    """The workspace's base if the store still has it, else the newest whole snapshot.

    A wrong guess costs nothing but room: every file is compared before it is believed.
    """
    base = read_base(context.workspace, context.store)
    known = {one.id: one for one in catalogue.snapshots if one.id not in catalogue.damaged}
    manifest = known.get(base or "") or catalogue.latest_whole
    if manifest is None:
        return None
    try:
        index = open_index(place.archive(manifest.id), like)
    except SnapshotDamaged as error:
        notify.warn("snapshots.damaged", b"", f"{error}; storing everything anew")
        return None
    return Parent(manifest, index, ScanCache.load(cache_path(context.workspace), index))


def plan_snapshot(
    context: NodeContext,
    place: StoreDirectory,
    catalogue: Catalogue,
    notify: Notifier,
    options: SnapshotOptions,
    prepared: PreparedScan | None = None,
) -> tuple[Parent | None, Plan]:
    """Scans the workspace and decides what has to be stored; reads the parent's index meanwhile."""
    notify.phase("scan")
    with prepared.scan if prepared else begin_scan(context, options.roots or None) as scan:
        parent = find_parent(
            context, place, catalogue, notify, prepared.index if prepared else None
        )
        if parent is None:  # everything will be stored: what does that is loaded meanwhile
            import scratchflow.archive.write.writer  # noqa: F401
        scanned = scan.finish(notify.warn, parent.index if parent else None)
    if parent is None:
        return None, plan(scanned, None, warn=notify.warn)
    full = options.full or _is_on_damaged(place, parent, notify)
    planned = plan(scanned, parent.index, parent.cache, warn=notify.warn, full=full)
    # Asked only now: an unchanged workspace is the common case and should cost no more than a look.
    if planned.full or planned.unchanged or options.never_full:
        return parent, planned
    if not _is_due_for_full(context, place, catalogue, parent):
        return parent, planned
    return parent, planned.in_full()


def _is_on_damaged(place: StoreDirectory, parent: Parent, notify: Notifier) -> bool:
    """Whether the parent needs an archive that is known to be damaged: it does not hold its files."""
    damaged = known_damage(place, needed_archives(parent.manifest))
    if damaged is not None:
        message = f"snapshot {damaged} is damaged; everything is stored anew"
        notify.warn("snapshots.damaged", b"", message)
    return damaged is not None


def scan_workspace(
    context: NodeContext, notify: Notifier, roots: Sequence[str] | None = None
) -> ScannedTree:
    """The workspace and what is saved with it, or the given roots, as they are on disk now."""
    with begin_scan(context, roots) as scan:
        return scan.finish(notify.warn)


def begin_scan(context: NodeContext, roots: Sequence[str] | None) -> Scan:
    """The same scan while the caller does something else."""
    rules = IgnoreRules(context.profile.backup.exclude)
    wanted = context.workspace.roots if roots is None else roots
    return Scan(context.workspace.scratch, wanted, rules)


def _is_due_for_full(
    context: NodeContext, place: StoreDirectory, catalogue: Catalogue, parent: Parent
) -> bool:
    """Whether the line has no full snapshot of the last `full_every`, or most of its bytes are dead."""
    whole = [one for one in catalogue.snapshots if one.id not in catalogue.damaged]
    fulls = {one.id for one in whole if one.kind == "full"}
    lineage = lineage_of(catalogue.snapshots, read_noted(place))
    full = newest_full(parent.manifest.id, lineage, fulls)
    full_every = timedelta(seconds=context.profile.backup.full_every.seconds)
    if full is None or context.now() - begun_at(full) >= full_every:
        return True
    uses = parent.index.uses()
    stored = sum(use.stored_bytes for use in uses)
    return sum(use.live_bytes for use in uses) < stored * MIN_LIVE_SHARE


def _write(planned: Plan, new: NewSnapshot, context: NodeContext, notify: Notifier) -> Written:
    # Imported when there is something to write: most backups find nothing.
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


def _manifest(
    context: NodeContext,
    parent: Manifest | None,
    written: Written,
    options: SnapshotOptions,
    snapshot: str,
) -> Manifest:
    plain = plain_manifest(context, snapshot, written.counts, written.archive_bytes, written.sha256)
    return msgspec.structs.replace(
        plain,
        kind="full" if written.full else "incremental",
        parent=parent.id if parent else None,
        needs=written.needs,
        also=[
            root
            for root in options.roots or context.workspace.roots
            if root != context.workspace.name
        ],
        message=options.message,
        purpose=options.purpose,
        exclude=list(context.profile.backup.exclude),
    )


def plain_manifest(
    context: NodeContext, snapshot: str, counts: Counts, archive_bytes: int, sha256: str
) -> Manifest:
    """The manifest of a full snapshot taken here, with nothing special about it."""
    return Manifest(
        schema=MANIFEST_SCHEMA,
        id=snapshot,
        time=f"{begun_at(snapshot):%Y-%m-%dT%H:%M:%SZ}",
        kind="full",
        parent=None,
        needs=[],
        workspace=context.workspace.name,
        also=[],
        node=context.node,
        job_id=context.job_id,
        host=os.uname().nodename,
        tool_version=__version__,
        files=counts.files,
        dirs=counts.dirs,
        links=counts.links,
        bytes=counts.bytes,
        archive_bytes=archive_bytes,
        archive_sha256=sha256,
        warnings=0,
        verified=False,
    )


def _prune(lock: StoreLock, context: NodeContext, notify: Notifier) -> tuple[str, ...]:
    """What was removed. The new snapshot is committed by then: trouble with old ones is a warning."""
    try:
        plan = prune(lock, context.profile.backup, context.now())
    except ScratchflowError as error:
        notify.warn("snapshots.not_pruned", b"", f"old snapshots stay: {error}")
        return ()
    if plan.blocked:
        notify.remark(f"no old snapshot was removed: {plan.blocked}")
    return plan.removed
