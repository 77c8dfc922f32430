"""The shrink guard: a workspace that lost most of itself is not backed up without being asked."""

from __future__ import annotations

from scratchflow.model.errors import ShrinkGuard
from scratchflow.model.snapshot import Manifest
from scratchflow.model.units import format_size

# Losing this much is an edit, not a disaster: rewriting one small file must not need a flag.
_SMALL_LOSS_BYTES = 64 * 1024


def guard_shrink(parent: Manifest | None, *, files: int, size_bytes: int, allowed: bool) -> None:
    """Raises ShrinkGuard when the workspace fell under half of its parent's files or bytes.

    Exactly half passes (two files, one deleted). Fewer bytes count only when more than 64 KiB are
    gone. A workspace without files, or whose files are all empty, never replaces one that had some.
    """
    if parent is None or allowed:
        return
    if _lost_files(parent, files) or _lost_bytes(parent, size_bytes):
        raise ShrinkGuard(
            before=_in_words(parent.files, parent.bytes),
            after=_in_words(files, size_bytes),
            parent=parent.id,
        )


def _lost_files(parent: Manifest, files: int) -> bool:
    return files * 2 < parent.files


def _lost_bytes(parent: Manifest, size_bytes: int) -> bool:
    if parent.bytes > 0 and size_bytes == 0:
        return True
    return size_bytes * 2 < parent.bytes and parent.bytes - size_bytes > _SMALL_LOSS_BYTES


def _in_words(files: int, size_bytes: int) -> str:
    return f"{files} {'file' if files == 1 else 'files'} ({format_size(size_bytes)})"
