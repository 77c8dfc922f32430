"""Steps that every kind of restore shares: save first, extract, show what was done."""

from __future__ import annotations

import os
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
    PathMissing,
)
from scratchflow.model.results import Restored
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.model.text import printable
from scratchflow.node.context import Here
from scratchflow.node.progress import Teller
from scratchflow.node.restore.source import (
    RestoreWish,
    Source,
)
from scratchflow.node.same_store import open_store
from scratchflow.node.snapshot import (
    Ahead,
    Saved,
    Wish,
    save_workspace,
)
from scratchflow.store.lock.lock import StoreLock
from scratchflow.store.retention.sweep import sweep

# A scan that was begun so long before there was a lock is begun again.
_STALE_AFTER_S = 1.0

Mode = Literal["full", "delta", "nothing"]


@contextmanager
def locked_store(here: Here, teller: Teller) -> Iterator[StoreLock]:
    """The store, locked, without what killed runs left."""
    place = open_store(here)
    with here.lock(place, "scratchflow restore", remark=teller.remark) as lock:
        sweep(lock, time.time())
        yield lock


def save_now(here: Here, teller: Teller, wish: Wish, ahead: Ahead | None = None) -> Saved:
    """The workspace as it is, in a snapshot, which is taken unless there is one already."""
    started_s = here.monotonic()
    with locked_store(here, teller) as lock:
        if here.monotonic() - started_s > _STALE_AFTER_S:
            ahead = None  # somebody may have changed something while we waited
        return save_workspace(here, lock, teller, wish, ahead)


def safety_snapshot(saved: Saved) -> str | None:
    """Its id if it had to be taken."""
    return None if saved.taken.kind == "unchanged" else saved.taken.snapshot


def aside_id(here: Here, source: Source) -> str:
    """The id to move things aside by: a file's own name may be too long, or worse."""
    return source.id if is_snapshot_id(source.id) else here.token(3)


def held_by(saved: Saved, teller: Teller) -> Held:
    """What the snapshot that was just taken, or found to be there, holds of the workspace."""
    unsaved = frozenset(path.rstrip(b"/") for path in teller.unreadable)
    return Held(saved.scanned, saved.index, trusted_flags(saved), unsaved)


def trusted_flags(saved: Saved) -> array[int]:
    """Which entries of the scan cannot be trusted; a snapshot that left some out has others."""
    whole = len(saved.flags) == len(saved.scanned)
    return saved.flags if whole else recheck_flags(saved.scanned)


def shown_aside(here: Here, moved: list[bytes]) -> list[str]:
    """Where things were moved aside to, as the user knows the paths."""
    return sorted(printable(here.workspace.scratch / os.fsdecode(path)) for path in moved)


def chosen_part(source: Source, wish: RestoreWish) -> Selection | None:
    """What the wish's paths mean in the source; None for everything."""
    if not wish.paths:
        return None
    select = Selection(source.index, wish.paths)
    if select.unmatched:
        raise PathMissing(snapshot=source.id, path=select.unmatched[0])
    return select


def extract_from(
    source: Source,
    target: Path,
    teller: Teller,
    select: Selection | None = None,
    *,
    existing: Existing | Displacing = "refused",
    masked: bool = False,
) -> Extracted:
    """Brings the source, or a part of it, into a directory."""
    return extract(
        source.index,
        source.open_archive,
        target,
        select=select,
        warn=teller.warn,
        progress=teller.progress,
        existing=existing,
        masked=masked,
    )


def foretell_part(here: Here, source: Source, select: Selection | None, target: Path) -> Restored:
    """What a restore of a part would write."""
    chosen = select.entries if select else bytes([1]) * len(source.index)
    files = [entry for entry in source.index.regular_files() if chosen[entry]]
    size = sum(source.index.size[entry] for entry in files)
    shown = printable(target)
    return summary(here, source, "full", len(files), size, target=shown, dry_run=True)


def summary(
    here: Here, source: Source, mode: Mode, written_files: int, written_bytes: int, **details: Any
) -> Restored:
    """The result, with everything about the source filled in."""
    counts = source.index.counts()
    plain = Restored(
        snapshot=source.id,
        mode=mode,
        target=printable(here.workspace.path),
        files=counts.files,
        bytes=counts.bytes,
        written_files=written_files,
        written_bytes=written_bytes,
        duration_s=0.0,
    )
    return msgspec.structs.replace(plain, **details)
