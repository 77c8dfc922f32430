"""Damage to a file that a person named: the store has no part in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scratchflow.model.errors.snapshots import ArchiveUnreadable, SnapshotDamaged


@contextmanager
def blaming_file(file: Path, archive_id: str) -> Iterator[None]:
    """Turns damage to the archive of this id into that of the file: an export has the id of its snapshot in the store."""
    try:
        yield
    except SnapshotDamaged as error:
        if error.code != SnapshotDamaged.code or error.fields.get("snapshot") != archive_id:
            raise
        reason = str(error.fields["reason"]).removeprefix(f"{archive_id}.tar.lz4, ")
        raise ArchiveUnreadable.found(file, reason) from error
