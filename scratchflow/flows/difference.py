"""`restore` into a workspace that came from a snapshot: only what differs, after saving the rest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from scratchflow.archive import delta as deltas
from scratchflow.archive.scan import ScannedTree
from scratchflow.flows.here import Here
from scratchflow.flows.restore import Source, snapshot_now, summary
from scratchflow.flows.snapshotting import Wish, find_parent, note_restored, scan_workspace
from scratchflow.flows.telling import Teller
from scratchflow.model.errors import NotSaved
from scratchflow.model.results import Restored
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.place import find_place
from scratchflow.workspace.notes import Restoring, begin_restoring, end_restoring, forget_base


def restore_difference(
    here: Here, teller: Teller, source: Source, *, resume: bool, dry_run: bool
) -> Restored:
    """Writes only what differs. Until the first file is touched, an error changes nothing.

    The note comes before the safety snapshot: killed in between, the next run still knows which
    snapshot was wanted, though the newest is another one by then.
    """
    if dry_run:
        return _foretell(here, teller, source)
    begin_restoring(here.workspace, Restoring(snapshot=source.id, mode="delta"))
    try:
        safety = _save_changes(here, teller, source)
        scanned, delta = _find(here, teller, source)
        _refuse_losses(scanned, delta, source, teller)
    except BaseException:
        if not resume:
            end_restoring(here.workspace)
        raise
    if delta:
        forget_base(here.workspace)
    applied = deltas.apply(
        delta,
        scanned,
        source.index,
        source.open_archive,
        warn=teller.warn,
        progress=teller.progress,
    )
    note_restored(here, teller, source.id, source.index, source.roots)
    end_restoring(here.workspace)
    mode = "delta" if delta else "nothing"
    return summary(
        here,
        source,
        mode,  # type: ignore[arg-type]  # one of the three words
        applied.written_files,
        applied.written_bytes,
        removed=applied.removed,
        safety_snapshot=safety,
    )


def _foretell(here: Here, teller: Teller, source: Source) -> Restored:
    _, delta = _find(here, teller, source)
    size = sum(source.index.size[entry] for entry in delta.files)
    return summary(
        here,
        source,
        "delta" if delta else "nothing",
        len(delta.files),
        size,
        removed=len(delta.remove),
        dry_run=True,
    )


def _save_changes(here: Here, teller: Teller, source: Source) -> str | None:
    """A snapshot of all that the restore may touch, unless one already holds it."""
    roots = list(dict.fromkeys([*here.workspace.roots, *source.roots]))
    message = f"before restoring {source.id}"
    wish = Wish(allow_shrink=True, message=message, prune=False, roots=roots)
    taken, is_new = snapshot_now(here, teller, wish)
    return taken if is_new else None


def _find(here: Here, teller: Teller, source: Source) -> tuple[ScannedTree, deltas.Delta]:
    place = find_place(here.store, here.workspace.name)
    parent = find_parent(here, place, read_catalogue(place), teller)
    scanned = scan_workspace(here, teller, source.roots)
    base, cache = (parent.index, parent.cache) if parent else (source.index, None)
    return scanned, deltas.find_delta(scanned, base, cache, source.index, teller.warn)


def _refuse_losses(
    scanned: ScannedTree, delta: deltas.Delta, source: Source, teller: Teller
) -> None:
    """NotSaved for whatever would be replaced or removed though no snapshot could take it."""
    written = set(delta.files)
    for path in teller.unreadable:
        entry = source.index.find(path)
        if entry is None or entry in written:
            raise NotSaved(path=os.fsdecode(path), reason="it may not be read")
    for hidden in _hidden(scanned, delta, source):
        raise NotSaved(path=hidden, reason="it is excluded from snapshots now")


def _hidden(scanned: ScannedTree, delta: deltas.Delta, source: Source) -> Iterator[Path]:
    """Files in the way that the scan passed over, unless they are what is wanted already."""
    index = source.index
    for entry in [*delta.files, *delta.symlinks, *delta.hardlinks]:
        path = index.path(entry)
        if scanned.find(path) is not None:
            continue
        on_disk = scanned.scratch / os.fsdecode(path)
        try:
            found = os.lstat(on_disk)
        except OSError:
            continue
        if (found.st_size, found.st_mtime_ns) != (index.size[entry], index.mtime_ns[entry]):
            yield on_disk
