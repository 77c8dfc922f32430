"""`restore`: bring the workspace, or a part of it, back from a snapshot."""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext, suppress
from pathlib import Path

import msgspec

from scratchflow.archive.files.limits import limit_reached
from scratchflow.archive.read.archive_file import open_index
from scratchflow.model.errors.base import ScratchflowError, UsageInvalid
from scratchflow.model.errors.snapshots import PerhapsDamaged, SnapshotDamaged
from scratchflow.model.errors.store import TargetFull
from scratchflow.model.errors.transfer import FileFailed
from scratchflow.model.errors.workspace import WorkspaceFailed
from scratchflow.model.requests import Restore
from scratchflow.model.results.restore import Restored
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.node.context import NodeContext
from scratchflow.node.former_scratch import require_at_scratch
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.source import RestoreOptions, find_source, replaced_by
from scratchflow.node.snapshot.allowed import incomplete
from scratchflow.store.catalogue import LATEST, Catalogue, read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.checks.verified import doubted, known_problems, read_verified
from scratchflow.store.checks.whole import brings_back, newest_whole
from scratchflow.store.directory import StoreDirectory, find_place
from scratchflow.workspace.notes import (
    Restoring,
    end_restoring,
    read_base,
    read_restoring,
)
from scratchflow.workspace.path_names import with_names


def requested_restore(context: NodeContext, notify: Notifier, asked: Restore) -> Restored:
    """What `restore` asks for; a relative path is one of this process's directory, `~` its home."""
    options = RestoreOptions(
        snapshot=asked.snapshot,
        paths=asked.paths,
        to=_absolute(asked.to) if asked.to else None,
        source=Path(os.path.expanduser(asked.source)) if asked.source else None,
        replace=asked.replace,
        force=asked.force,
        abandon=asked.abandon,
        dry_run=asked.dry_run,
        zone=asked.zone,
        beside=asked.beside,
    )
    return restore(context, notify, options)


def _absolute(path: str) -> Path:
    expanded = os.path.expanduser(with_names(path, os.environ, key="--to"))
    if path.startswith("$") and not os.path.isabs(expanded):
        problem = f"`{path}` is `{expanded}` there, which is not a whole path: give one that begins with `/` or `~/`"
        raise UsageInvalid(problem=problem, command="scratchflow restore")
    try:
        return Path(expanded).absolute()
    except OSError as error:  # the current directory is gone
        raise FileFailed(path=path, reason=error.strerror) from None


def restore(context: NodeContext, notify: Notifier, options: RestoreOptions) -> Restored:
    """Chooses the way: elsewhere, a part, only the difference, or everything."""
    started_s = context.monotonic()
    touches_nothing_here = options.source is None and (options.dry_run or options.to is not None)
    try:
        if options.to is None and not options.abandon:
            require_at_scratch(context)
        with nullcontext() if touches_nothing_here else context.alone(notify.remark):
            restored = _restore(context, notify, options)
    except OSError as error:
        raise _with_name(context, options, _failure(context, options, error)) from error
    except ScratchflowError as error:
        if error.code in {SnapshotDamaged.code, PerhapsDamaged.code}:
            _with_whole(context, options, error)
        else:
            _with_name(context, options, error)
        raise
    took_s = round(context.monotonic() - started_s, 3)
    return msgspec.structs.replace(restored, duration_s=took_s)


def _failure(context: NodeContext, options: RestoreOptions, error: OSError) -> ScratchflowError:
    limit = limit_reached(error)
    if limit is not None:
        return limit
    target = options.to or context.workspace.scratch
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        path = error.filename if isinstance(error.filename, str) else target
        return TargetFull(path=path, reason=error.strerror)
    return WorkspaceFailed(path=_where(error, target), reason=error.strerror)


def _with_whole(context: NodeContext, options: RestoreOptions, error: ScratchflowError) -> None:
    """Names the snapshot to restore in place of a damaged one: never what this restore itself has saved before."""
    if options.source is not None:
        return
    place = find_place(context.store, context.workspace.name)
    damaged = error.fields.get("snapshot", "")
    with suppress(OSError, ScratchflowError):
        whole = newest_whole(read_catalogue(place), read_verified(place), before=damaged)
        if whole is not None:
            same = "with the same options, " if options.paths or options.to else ""
            which = "the newest whole one before it"
            other = brings_back(whole, context.now().timestamp(), which)
            error.add_step(f"{same}{other}")
    with suppress(OSError, ScratchflowError):
        if not options.paths and is_snapshot_id(damaged):
            open_index(place.archive(damaged))  # without its index nothing of it can be found
            what = "a file or directory of it that is whole"
            error.add_step(f"`scratchflow restore {damaged} --path PATH --to DIR` brings {what}")


def _with_name(
    context: NodeContext, options: RestoreOptions, error: ScratchflowError
) -> ScratchflowError:
    """Adds which snapshot is to be asked for next time, when `latest` is by now what was here before this restore.

    One that had begun to change the workspace goes on with its own snapshot by itself.
    """
    if options.snapshot != LATEST or options.to is not None or options.dry_run:
        return error
    with suppress(OSError, ScratchflowError):
        newest = read_catalogue(find_place(context.store, context.workspace.name)).newest_readable
        wanted = replaced_by(newest) if newest else ""
        if wanted and read_restoring(context.workspace) is None:
            error.add_step(
                f"type `scratchflow restore {wanted}` then: `latest` is by now what was here before"
            )
    return error


def _where(error: OSError, target: Path) -> Path:
    """What an error is about. Beneath the target only the last name is known: the rest was open already."""
    if error.filename is None or isinstance(error.filename, int):
        return target
    name = os.fsdecode(error.filename)
    return Path(name) if os.path.isabs(name) else target / "…" / name


def _restore(context: NodeContext, notify: Notifier, options: RestoreOptions) -> Restored:
    if options.abandon:
        from scratchflow.node.restore.abandon import abandon

        return abandon(context, notify, dry_run=options.dry_run)
    place = find_place(context.store, context.workspace.name)
    if not options.dry_run:
        forget_old_listing(place)  # `latest` may have been saved by another host a second ago
    catalogue = read_catalogue(place)
    restored = _restore_from(context, notify, options, place, catalogue)
    if options.dry_run and options.source is None and restored.written_bytes:
        _warn_of_damage(notify, place, catalogue, restored.snapshot)
    return restored


def _warn_of_damage(
    notify: Notifier, place: StoreDirectory, catalogue: Catalogue, snapshot: str
) -> None:
    """What is noted of a snapshot that a dry run does not read, and the restore will."""
    problem = known_problems(catalogue, read_verified(place)).get(snapshot)
    if problem:
        message = f"snapshot {snapshot} was found damaged: {problem}; `restore` reads it again, and fails if that is in the way"
        notify.warn("snapshots.damaged", b"", message)
    elif snapshot in doubted(place, catalogue.snapshots):
        message = f"an earlier scratchflow found snapshot {snapshot} damaged; `scratchflow snapshots verify {snapshot}` says whether it is"
        notify.warn("snapshots.damaged", b"", message)


def _restore_from(
    context: NodeContext,
    notify: Notifier,
    options: RestoreOptions,
    place: StoreDirectory,
    catalogue: Catalogue,
) -> Restored:
    interrupted = _interrupted(context, options)
    with find_source(context, notify, options, place, catalogue, interrupted) as source:
        # Each here, with what it loads: one file to another place needs nothing that takes snapshots.
        if options.to is not None:
            from scratchflow.node.restore.elsewhere import restore_elsewhere

            return restore_elsewhere(context, notify, options, source, options.to)
        from scratchflow.node.restore import in_place

        if options.paths:
            if interrupted:
                raise incomplete(context, interrupted)
            return in_place.restore_paths(context, notify, options, source)
        restored, known = in_place.restore_all(
            context, notify, options, source, catalogue, interrupted
        )
    if source.manifest is None or options.beside:
        return restored
    if options.dry_run:
        return in_place.foretell_newest(context, restored, catalogue, source)
    return in_place.make_newest(context, notify, restored, source, source.manifest, known)


def _interrupted(context: NodeContext, options: RestoreOptions) -> Restoring | None:
    """The restore that has still to be finished; one that was noted as done needs only that."""
    found = read_restoring(context.workspace)
    if (
        found
        and found.mode == "full"
        and read_base(context.workspace, context.store) == found.snapshot
    ):
        if not options.dry_run and options.to is None:
            end_restoring(context.workspace)
        return None
    return found
