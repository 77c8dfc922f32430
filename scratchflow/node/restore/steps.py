"""Steps that every kind of restore shares: save first, extract, show what was done."""

from __future__ import annotations

import os
import shlex
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore.displace import Displacing, Held
from scratchflow.archive.restore.extract import Existing, Extracted, extract
from scratchflow.archive.scan.cache import recheck_flags
from scratchflow.model.errors import (
    PathInOthers,
    PathMissing,
    PathUnsaved,
    ScratchflowError,
)
from scratchflow.model.results import Restored
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.model.text import printable
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.holders import snapshots_with
from scratchflow.node.restore.items import tell_part
from scratchflow.node.restore.source import (
    RestoreOptions,
    Source,
)
from scratchflow.node.restore.unsaved import is_in_workspace
from scratchflow.node.same_store import open_store
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.node.snapshot.plan import PreparedScan
from scratchflow.node.snapshot.take import Saved, save_workspace
from scratchflow.store.catalogue import LATEST
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.retention.sweep import sweep

# A scan that was begun so long before there was a lock is begun again.
_STALE_AFTER_S = 1.0

Mode = Literal["full", "delta", "nothing"]


@contextmanager
def locked_store(context: NodeContext, notify: Notifier) -> Iterator[StoreLock]:
    """The store, locked, without what killed runs left."""
    place = open_store(context)
    with context.lock(place, "scratchflow restore", remark=notify.remark) as lock:
        sweep(lock, time.time())
        yield lock


def save_now(
    context: NodeContext,
    notify: Notifier,
    options: SnapshotOptions,
    prepared: PreparedScan | None = None,
) -> Saved:
    """The workspace as it is, in a snapshot, which is taken unless there is one already."""
    started_s = context.monotonic()
    with locked_store(context, notify) as lock:
        if context.monotonic() - started_s > _STALE_AFTER_S:
            prepared = None  # somebody may have changed something while we waited
        return save_workspace(context, lock, notify, options, prepared)


def safety_snapshot(saved: Saved) -> str | None:
    """Its id if it had to be taken."""
    return None if saved.taken.kind == "unchanged" else saved.taken.snapshot


def aside_id(context: NodeContext, source: Source) -> str:
    """The id to move things aside by: a file's own name may be too long, or worse."""
    return source.id if is_snapshot_id(source.id) else context.token(3)


def held_by(saved: Saved, notify: Notifier) -> Held:
    """What the snapshot that was just taken, or found to be there, holds of the workspace."""
    unsaved = frozenset(path.rstrip(b"/") for path in notify.unreadable)
    return Held(saved.scanned, saved.index, trusted_flags(saved), unsaved)


def trusted_flags(saved: Saved) -> array[int]:
    """Which entries of the scan cannot be trusted; a snapshot that left some out has others."""
    whole = len(saved.flags) == len(saved.scanned)
    return saved.flags if whole else recheck_flags(saved.scanned)


def shown_aside(context: NodeContext, moved: list[bytes]) -> list[str]:
    """Where things were moved aside to, as the user knows the paths."""
    return sorted(printable(context.workspace.scratch / os.fsdecode(path)) for path in moved)


def chosen_part(context: NodeContext, source: Source, options: RestoreOptions) -> Selection | None:
    """What the wish's paths mean in the source; None for everything.

    They are paths from scratch down, from the workspace down, or whole ones of this machine.
    """
    if not options.paths:
        return None
    scratch = f"{context.workspace.scratch}/"
    paths = [path.removeprefix(scratch) for path in options.paths]
    select = Selection(source.index, paths, within=context.workspace.name)
    if select.unmatched:
        missing = select.unmatched[0]
        raise _no_such_path(context, source, options, missing)
    return select


def _no_such_path(
    context: NodeContext, source: Source, options: RestoreOptions, missing: str
) -> ScratchflowError:
    """What to say of a path that is not in the source: whether the workspace or another snapshot has it."""
    if source.manifest is None:
        return PathMissing(snapshot=source.id, path=missing)
    if options.snapshot == LATEST and is_in_workspace(context, missing):
        return PathUnsaved(snapshot=source.id, path=missing)
    holders = snapshots_with(context, missing)
    if not holders:
        return PathMissing(snapshot=source.id, path=missing)
    others = ", ".join(f"`{one}`" for one in holders) + (" has" if len(holders) == 1 else " have")
    return PathInOthers(
        snapshot=source.id,
        path=missing,
        others=others,
        newest=holders[0],
        typed=shlex.quote(missing),
    )


def extract_from(
    source: Source,
    target: Path,
    notify: Notifier,
    select: Selection | None = None,
    *,
    existing: Existing | Displacing = "refused",
    masked: bool = False,
) -> Extracted:
    """Brings the source, or a part of it, into a directory."""
    extracted = extract(
        source.index,
        source.open_archive,
        target,
        select=select,
        warn=notify.warn,
        progress=notify.progress,
        existing=existing,
        masked=masked,
    )
    tell_part(notify, source.index, select)
    return extracted


def foretell_part(
    context: NodeContext,
    notify: Notifier,
    source: Source,
    select: Selection | None,
    target: Path,
) -> Restored:
    """What a restore of a part would write."""
    tell_part(notify, source.index, select, dry_run=True)
    chosen = select.entries if select else bytes([1]) * len(source.index)
    files = [entry for entry in source.index.regular_files() if chosen[entry]]
    size = sum(source.index.size[entry] for entry in files)
    shown = printable(target)
    return summary(context, source, "full", len(files), size, target=shown, dry_run=True)


def summary(
    context: NodeContext,
    source: Source,
    mode: Mode,
    written_files: int,
    written_bytes: int,
    **details: Any,
) -> Restored:
    """The result, with everything about the source filled in."""
    counts = source.index.counts()
    plain = Restored(
        snapshot=source.id,
        mode=mode,
        target=printable(context.workspace.path),
        files=counts.files,
        bytes=counts.bytes,
        written_files=written_files,
        written_bytes=written_bytes,
        duration_s=0.0,
        host=context.node,
    )
    return msgspec.structs.replace(plain, **details)
