"""`restore --to`: into another directory; the workspace and its notes have no part in it."""

from __future__ import annotations

from pathlib import Path

from scratchflow.archive.restore.extract import Extracted, would_extract
from scratchflow.disk.building import building_beside, sweep_beside
from scratchflow.disk.trees import is_empty_or_missing, rename_new
from scratchflow.disk.umask import current_umask
from scratchflow.model.errors.restore import TargetInStore, TargetIsWorkspace
from scratchflow.model.errors.transfer import FileTaken
from scratchflow.model.results.restore import Restored
from scratchflow.model.text import printable
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.beside import Beside, PutBeside, place_inside, put_beside
from scratchflow.node.restore.listed_part import listed_part, would_put_beside
from scratchflow.node.restore.source import RestoreOptions, Source
from scratchflow.node.restore.steps import (
    Mode,
    aside_id,
    chosen_part,
    extract_from,
    foretell_part,
    summary,
)
from scratchflow.node.restore.unsaved import NEWER, newer_than, words_of
from scratchflow.store.catalogue import LATEST


def restore_elsewhere(
    context: NodeContext, notify: Notifier, options: RestoreOptions, source: Source, target: Path
) -> Restored:
    """All of it into a place that is free or empty, or a part of it into any directory."""
    index, select = source.index, chosen_part(context, source, options)
    _refuse_own_places(context, source, options, target)
    if not options.paths and not is_empty_or_missing(target):
        raise FileTaken(path=target)
    if options.snapshot == LATEST and source.manifest:
        for newer in words_of(newer_than(context, index, options.paths)):
            notify.warn(NEWER, b"", newer)
    shown = printable(target)
    place = printable(target / place_inside(source, select, context.workspace.name))
    _tell_if_nothing_saves(context, notify, target)
    if options.dry_run and not options.paths:
        planned = would_extract(index, None)
        return foretell_part(context, notify, source, select, planned, target=shown, place=place)
    if not options.paths:
        extracted = build(source, target, notify, context.token(4), options.warm)
        files, size = extracted.files, extracted.bytes
        return summary(context, source, "full", files, size, target=shown, place=place)
    where = Beside(
        target=target,
        workspace=context.workspace.name,
        token=context.token(4),
        aside_id=aside_id(context, source),
        replace=options.replace,
    )
    if options.dry_run:
        put = would_put_beside(listed_part(index, select), where, notify)
        planned = Extracted(put.files, put.bytes)
        mode = _mode(put)
        return foretell_part(
            context, notify, source, select, planned, mode, target=shown, place=place
        )
    put = put_beside(source, where, notify, select)
    mode = _mode(put)
    aside = put.moved_aside
    return summary(
        context, source, mode, put.files, put.bytes, target=shown, place=place, moved_aside=aside
    )


def _refuse_own_places(
    context: NodeContext, source: Source, options: RestoreOptions, target: Path
) -> None:
    """The store is no place for anything else, and what the workspace holds is saved by a plain `restore` alone."""
    real = target.resolve()
    if real.is_relative_to(context.store.resolve()):
        raise TargetInStore(target=target, store=context.store)
    if not options.paths and real == context.workspace.path.resolve():
        raise TargetIsWorkspace(target=target, snapshot=source.id)


def _tell_if_nothing_saves(context: NodeContext, notify: Notifier, target: Path) -> None:
    """Beside the workspace it looks saved, and is not."""
    scratch, real = context.workspace.scratch.resolve(), target.resolve()
    is_saved = any(real.is_relative_to(scratch / root) for root in context.workspace.roots)
    if real.is_relative_to(scratch) and not is_saved:
        notify.remark(f"no backup saves what is in `{target}`: it lies beside the workspace")


def _mode(put: PutBeside) -> Mode:
    return "full" if put.is_news else "nothing"


def build(
    source: Source, target: Path, notify: Notifier, token: str, warm: Path | None = None
) -> Extracted:
    """Builds beside the target and renames: it is there whole, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep_beside(target.parent)
    with building_beside(target, token) as building:
        extracted = extract_from(source, building, notify, existing="none", masked=True, warm=warm)
        building.chmod(0o777 & ~current_umask())
        rename_new(building, target)
    return extracted
