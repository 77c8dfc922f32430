"""The result of a backup: what the snapshot holds, and what it could not save."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from scratchflow.archive.compare.plan import Plan
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import printable
from scratchflow.node.progress import Notifier

if TYPE_CHECKING:
    from scratchflow.archive.write.written import Written

_SHOWN_UNSAVED = 20


class Heard(msgspec.Struct, frozen=True):
    """The warnings counted before this snapshot: one restore may take two snapshots with one notifier."""

    warnings: int
    unreadable: int

    @classmethod
    def so_far(cls, notify: Notifier) -> Heard:
        """The counts as they are now."""
        return cls(notify.warnings, len(notify.unreadable))

    def unsaved(self, notify: Notifier) -> list[bytes]:
        """The paths that this snapshot could not read, each once."""
        return list(dict.fromkeys(notify.unreadable[self.unreadable :]))


def unchanged(manifest: Manifest, took_s: float, unsaved: list[bytes]) -> BackupTaken:
    """Nothing was stored: the snapshot before still holds the workspace."""
    return BackupTaken(
        snapshot=manifest.id,
        kind="unchanged",
        parent=manifest.parent,
        files=manifest.files,
        bytes=manifest.bytes,
        changed_files=0,
        changed_bytes=0,
        stored_bytes=0,
        duration_s=round(took_s, 3),
        **unsaved_fields(unsaved),
    )


def taken(
    manifest: Manifest, planned: Plan, written: Written, took_s: float, unsaved: list[bytes]
) -> BackupTaken:
    """The snapshot that was committed."""
    return BackupTaken(
        snapshot=manifest.id,
        kind=manifest.kind,
        parent=manifest.parent,
        files=manifest.files,
        bytes=manifest.bytes,
        changed_files=written.changed_files,
        changed_bytes=written.changed_bytes,
        stored_bytes=manifest.archive_bytes,
        duration_s=round(took_s, 3),
        moved_files=planned.moved_files,
        removed_files=removed_files(planned),
        shrunk=manifest.shrunk,
        beside=manifest.beside,
        **unsaved_fields(unsaved),
    )


def removed_files(planned: Plan) -> int:
    """How many files of the parent are gone; a renamed one is not."""
    if planned.parent is None or not planned.found.gone:
        return 0
    mode = planned.parent.mode
    gone = {entry for entry in planned.found.gone if mode[entry] & KIND_MASK == REGULAR}
    moved = {planned.found.known_entry(entry) for entry in planned.found.touched}
    return len(gone - moved)


def unsaved_fields(unsaved: list[bytes]) -> dict[str, Any]:
    """How many paths no snapshot holds, and the first of them."""
    shown = [printable(os.fsdecode(path)) for path in unsaved[:_SHOWN_UNSAVED]]
    return {"unsaved": len(unsaved), "unsaved_paths": shown}
