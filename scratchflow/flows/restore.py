"""`restore`: bring the workspace, or a part of it, back from a snapshot."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from scratchflow.archive import delta as deltas
from scratchflow.archive.cache import ScanCache
from scratchflow.archive.extract import Extracted, extract
from scratchflow.archive.index import Index
from scratchflow.archive.reader import OpenArchive, open_index
from scratchflow.archive.selection import Selection
from scratchflow.disk.trees import is_empty_or_missing, remove_tree
from scratchflow.flows.here import Here
from scratchflow.flows.moving import opened_file
from scratchflow.flows.snapshotting import (
    Wish,
    find_parent,
    note_equal,
    scan_workspace,
    take_snapshot,
)
from scratchflow.flows.telling import Teller
from scratchflow.model.errors import (
    RestoreIncomplete,
    SnapshotMissing,
    TargetNotEmpty,
    WorkspaceFailed,
)
from scratchflow.model.results import Restored
from scratchflow.model.snapshot import Manifest
from scratchflow.store.catalogue import Catalogue, read_catalogue
from scratchflow.store.place import Place, find_place, open_place
from scratchflow.store.sweep import sweep
from scratchflow.workspace.incoming import begin_incoming, merge_in, occupied_roots, swap_in
from scratchflow.workspace.notes import (
    Restoring,
    begin_restoring,
    end_restoring,
    forget_base,
    read_base,
    read_restoring,
)

Mode = Literal["full", "delta", "nothing"]


@dataclass(frozen=True)
class RestoreWish:
    """What the user wants back, and where."""

    snapshot: str = "latest"
    paths: tuple[str, ...] = ()
    to: Path | None = None
    source: Path | None = None
    replace: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class Source:
    """What to restore: a snapshot of the store, or a file that is none."""

    id: str
    index: Index
    roots: list[str]  # what it holds, by name beneath scratch
    open_archive: OpenArchive
    manifest: Manifest | None = None  # None for a file


def restore(here: Here, teller: Teller, wish: RestoreWish) -> Restored:
    """Chooses the way: elsewhere, a part, only the difference, or everything."""
    started_s = here.monotonic()
    place = find_place(here.store, here.workspace.name)
    catalogue = read_catalogue(place)
    try:
        with _find_source(here, teller, wish, place, catalogue) as source:
            restored = _restore(here, teller, wish, source, catalogue)
    except OSError as error:
        path = error.filename or here.workspace.scratch
        raise WorkspaceFailed(path=path, reason=error.strerror) from error
    if source.manifest and not (wish.dry_run or wish.to or wish.paths):
        restored = _make_newest(here, teller, restored)
    took_s = round(here.monotonic() - started_s, 3)
    return msgspec.structs.replace(restored, duration_s=took_s)


def _make_newest(here: Here, teller: Teller, restored: Restored) -> Restored:
    """Going back is a step of history too: what was asked for is what `latest` brings next time."""
    place = open_place(here.store, here.workspace.name)
    latest = read_catalogue(place).latest
    if latest is None or latest.id == restored.snapshot:
        return restored
    with here.lock(place, "scratchflow restore") as lock:
        message = f"restored {restored.snapshot}"
        wish = Wish(allow_shrink=True, message=message, even_unchanged=True)
        taken = take_snapshot(here, lock, teller, wish)
    return msgspec.structs.replace(restored, committed_as=taken.snapshot)


@contextmanager
def _find_source(
    here: Here, teller: Teller, wish: RestoreWish, place: Place, catalogue: Catalogue
) -> Iterator[Source]:
    if wish.source is not None:
        with opened_file(here, teller, wish.source) as (archive, index):
            roots = [os.fsdecode(name) for name in index.top_names()]
            yield Source(wish.source.name, index, roots, lambda _: archive)
        return
    if not catalogue.snapshots:
        next_step = (
            "the store is empty: `scratchflow create` makes a workspace and its first snapshot"
        )
        raise SnapshotMissing(wanted=wish.snapshot, next_step=next_step)
    manifest = catalogue.find(wish.snapshot)
    catalogue.require_whole(manifest)
    index = open_index(place.archive(manifest.id))
    roots = [manifest.workspace, *manifest.also]
    yield Source(manifest.id, index, roots, place.archive, manifest)


def _restore(
    here: Here, teller: Teller, wish: RestoreWish, source: Source, catalogue: Catalogue
) -> Restored:
    if wish.to is not None:
        return _restore_elsewhere(here, teller, wish, source, wish.to)
    interrupted = _interrupted(here)
    if wish.paths:
        if interrupted:
            raise RestoreIncomplete(snapshot=interrupted.snapshot, target=here.workspace.path)
        return _restore_paths(here, teller, wish, source)
    if interrupted and interrupted.mode == "delta":
        return _restore_difference(here, teller, wish, source, resume=True)
    occupied = occupied_roots(here.workspace.scratch, source.roots)
    if occupied and source.manifest and _is_known(here, catalogue) and not interrupted:
        return _restore_difference(here, teller, wish, source, resume=False)
    if occupied and not wish.replace and not interrupted:
        raise TargetNotEmpty(target=here.workspace.scratch / occupied[0])
    return _restore_everything(here, teller, wish, source)


def _interrupted(here: Here) -> Restoring | None:
    """The restore that has still to be finished. One that was noted as done needs only its note removed."""
    found = read_restoring(here.workspace)
    if found and found.mode == "full" and read_base(here.workspace, here.store) == found.snapshot:
        end_restoring(here.workspace)
        return None
    return found


def _is_known(here: Here, catalogue: Catalogue) -> bool:
    """Whether the workspace came from a snapshot that the store still has."""
    base = read_base(here.workspace, here.store)
    return any(one.id == base and one.id not in catalogue.damaged for one in catalogue.snapshots)


def _restore_everything(here: Here, teller: Teller, wish: RestoreWish, source: Source) -> Restored:
    """Builds beside the workspace and renames into place."""
    counts = source.index.counts()
    if wish.dry_run:
        return _restored(here, source, "full", counts.files, counts.bytes, dry_run=True)
    incoming = begin_incoming(here.workspace)
    try:
        extracted = _extract(source, incoming, teller)
        begin_restoring(here.workspace, Restoring(snapshot=source.id, mode="full"))
        forget_base(here.workspace)
        moved = swap_in(incoming, here.workspace.scratch, source.roots, source.id)
        _note_restored(here, teller, source)
        end_restoring(here.workspace)
    finally:
        remove_tree(incoming)
    return _restored(here, source, "full", extracted.files, extracted.bytes, moved_aside=moved)


def _restore_difference(
    here: Here, teller: Teller, wish: RestoreWish, source: Source, *, resume: bool
) -> Restored:
    """Writes only what differs, after a safety snapshot of whatever no snapshot holds yet."""
    safety = None
    if not wish.dry_run and not resume:
        safety = _save_changes(here, teller, f"before restoring {source.id}")
    base, cache = _near_to(here, teller, source, resume=resume)
    scanned = scan_workspace(here, teller, source.roots)
    delta = deltas.find_delta(scanned, base, cache, source.index, teller.warn)
    if not delta or wish.dry_run:
        if not wish.dry_run:
            _note_restored(here, teller, source)
            end_restoring(here.workspace)
        size = sum(source.index.size[entry] for entry in delta.files)
        mode: Mode = "delta" if delta else "nothing"
        return _restored(
            here, source, mode, len(delta.files), size, safety_snapshot=safety, dry_run=wish.dry_run
        )
    begin_restoring(here.workspace, Restoring(snapshot=source.id, mode="delta"))
    forget_base(here.workspace)
    applied = deltas.apply(
        delta,
        scanned,
        source.index,
        source.open_archive,
        warn=teller.warn,
        progress=teller.progress,
    )
    _note_restored(here, teller, source)
    end_restoring(here.workspace)
    return _restored(
        here, source, "delta", applied.written_files, applied.written_bytes, safety_snapshot=safety
    )


def _near_to(
    here: Here, teller: Teller, source: Source, *, resume: bool
) -> tuple[Index, ScanCache | None]:
    """What the workspace is like. After an interrupted restore that is the wanted snapshot."""
    if not resume:
        place = find_place(here.store, here.workspace.name)
        parent = find_parent(here, place, read_catalogue(place), teller)
        if parent:
            return parent.index, parent.cache
    return source.index, None


def _save_changes(here: Here, teller: Teller, message: str) -> str | None:
    """A snapshot of the workspace as it is, unless one already holds it."""
    place = open_place(here.store, here.workspace.name)
    with here.lock(place, "scratchflow restore") as lock:
        sweep(lock, time.time())
        wish = Wish(allow_shrink=True, message=message, prune=False)
        taken = take_snapshot(here, lock, teller, wish)
    return None if taken.kind == "unchanged" else taken.snapshot


def _restore_paths(here: Here, teller: Teller, wish: RestoreWish, source: Source) -> Restored:
    """A part, into the workspace as it is: every chosen file replaced, everything else untouched."""
    select = _select(source, wish)
    if wish.dry_run:
        return _restored_part(here, source, select, here.workspace.path)
    safety = None
    if not is_empty_or_missing(here.workspace.path):
        message = f"before restoring paths of {source.id}"
        safety = _save_changes(here, teller, message)
    incoming = begin_incoming(here.workspace)
    try:
        extracted = _extract(source, incoming, teller, select)
        merge_in(incoming, here.workspace.scratch)
    finally:
        remove_tree(incoming)
    return _restored(
        here, source, "delta", extracted.files, extracted.bytes, safety_snapshot=safety
    )


def _restore_elsewhere(
    here: Here, teller: Teller, wish: RestoreWish, source: Source, target: Path
) -> Restored:
    """Into another directory; the workspace and its notes have no part in it."""
    select = _select(source, wish)
    if wish.dry_run:
        return _restored_part(here, source, select, target)
    if not wish.paths and not is_empty_or_missing(target):
        raise TargetNotEmpty(target=target)
    target.mkdir(parents=True, exist_ok=True)
    extracted = _extract(source, target, teller, select)
    return _restored(here, source, "full", extracted.files, extracted.bytes, target=str(target))


def _select(source: Source, wish: RestoreWish) -> Selection | None:
    if not wish.paths:
        return None
    select = Selection(source.index, wish.paths)
    if select.unmatched:
        top = f"`scratchflow snapshots show {source.id} ''` lists the top"
        raise SnapshotMissing(
            wanted=f"{select.unmatched[0]} in {source.id}",
            next_step=f"paths start with the workspace's name, like `{source.roots[0]}/README`; {top}",
        )
    return select


def _extract(
    source: Source, target: Path, teller: Teller, select: Selection | None = None
) -> Extracted:
    return extract(
        source.index,
        source.open_archive,
        target,
        select=select,
        warn=teller.warn,
        progress=teller.progress,
    )


def _note_restored(here: Here, teller: Teller, source: Source) -> None:
    """Notes what the workspace equals, with a fresh cache: the next backup is quick."""
    if source.manifest is None:
        return
    scanned = scan_workspace(here, teller, source.roots)
    cache = ScanCache.if_equal(scanned, source.index)
    note_equal(here, open_place(here.store, here.workspace.name), source.id, cache, teller)


def _restored_part(
    here: Here,
    source: Source,
    select: Selection | None,
    target: Path,
) -> Restored:
    """What a restore of a part would write."""
    chosen = select.entries if select else bytes([1]) * len(source.index)
    files = [entry for entry in source.index.regular_files() if chosen[entry]]
    size = sum(source.index.size[entry] for entry in files)
    return _restored(here, source, "full", len(files), size, target=str(target), dry_run=True)


def _restored(
    here: Here, source: Source, mode: Mode, written_files: int, written_bytes: int, **details: Any
) -> Restored:
    counts = source.index.counts()
    plain = Restored(
        snapshot=source.id,
        mode=mode,
        target=str(here.workspace.path),
        files=counts.files,
        bytes=counts.bytes,
        written_files=written_files,
        written_bytes=written_bytes,
        duration_s=0.0,
    )
    return msgspec.structs.replace(plain, **details)
