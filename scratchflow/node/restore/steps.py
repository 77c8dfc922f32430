"""Steps that every kind of restore shares: choose, extract, show what was done."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any, Literal

import msgspec

from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore.displace import Displacing
from scratchflow.archive.restore.extract import Existing, Extracted, extract
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import (
    PathInOthers,
    PathKeptOut,
    PathLeadsOut,
    PathMissing,
    PathUnsaved,
)
from scratchflow.model.results.restore import Restored
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.model.text import printable
from scratchflow.node.contents.paths import link_above
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.holders import snapshots_with
from scratchflow.node.restore.items import tell_part, warn_of_part
from scratchflow.node.restore.source import RestoreOptions, Source
from scratchflow.node.restore.unsaved import is_in_workspace, is_kept_out
from scratchflow.store.catalogue import LATEST

Mode = Literal["full", "delta", "nothing"]


def aside_id(context: NodeContext, source: Source) -> str:
    """The id to move things aside by: a file's own name may be too long, or worse."""
    return source.id if is_snapshot_id(source.id) else context.token(3)


def chosen_part(context: NodeContext, source: Source, options: RestoreOptions) -> Selection | None:
    """What the paths asked for mean in the source; None for everything.

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
    source.require_readable(entry for entry, chosen in enumerate(select.entries) if chosen)
    return select


def _no_such_path(
    context: NodeContext, source: Source, options: RestoreOptions, missing: str
) -> ScratchflowError:
    """What to say of a path that is not in the source: whether the workspace or another snapshot has it."""
    if source.manifest is None:
        return PathMissing(snapshot=source.id, path=missing)
    link = link_above(source.index, missing, context.workspace)
    if link is not None:
        path = os.fsdecode(source.index.path(link)).removeprefix(f"{context.workspace.name}/")
        target = os.fsdecode(source.index.target(link))
        typed = shlex.quote(path)
        return PathLeadsOut(snapshot=source.id, path=path, target=target, typed=typed)
    if options.snapshot == LATEST and is_in_workspace(context, missing):
        why = PathKeptOut if is_kept_out(context, missing) else PathUnsaved
        return why(snapshot=source.id, path=missing)
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
    warm: Path | None = None,
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
        warm=warm,
    )
    tell_part(notify, source.index, select)
    warn_of_part(notify, source.index, select)
    return extracted


def foretell_part(
    context: NodeContext,
    notify: Notifier,
    source: Source,
    select: Selection | None,
    planned: Extracted,
    mode: Mode = "full",
    **details: Any,
) -> Restored:
    """What a restore would write that puts everything chosen in place."""
    tell_part(notify, source.index, select, dry_run=True)
    warn_of_part(notify, source.index, select)
    return summary(context, source, mode, planned.files, planned.bytes, dry_run=True, **details)


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
