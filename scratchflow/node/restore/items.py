"""What a restore writes and removes, path by path, for whoever asked with `--verbose`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from scratchflow.archive.read.selection import Selection
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, Tree
from scratchflow.model.text import counted
from scratchflow.node.progress import Notifier

if TYPE_CHECKING:
    from scratchflow.archive.restore.apply_delta import Delta


def tell_part(
    notify: Notifier, index: Index, select: Selection | None, *, dry_run: bool = False
) -> None:
    """Every file and link of an index, or of a part of it."""
    if notify.wants_items:
        chosen = select.entries if select else bytes([1]) * len(index)
        entries = (entry for entry in range(len(index)) if chosen[entry])
        _tell(notify, "to write" if dry_run else "written", index, entries)


def tell_delta(
    notify: Notifier, delta: Delta, scanned: ScannedTree, index: Index, *, dry_run: bool = False
) -> None:
    """What differs: what is written, and what goes. A file that gets another mode or time is written, too."""
    if notify.wants_items:
        parts = (delta.files, delta.hardlinks, delta.symlinks, delta.metadata)
        entries = sorted(entry for part in parts for entry in part)
        _tell(notify, "to write" if dry_run else "written", index, entries)
        from scratchflow.archive.restore.apply_delta import entries_removed

        gone = entries_removed(delta, scanned)
        _tell(notify, "to remove" if dry_run else "removed", scanned, gone)


def warn_of_part(notify: Notifier, index: Index, select: Selection | None) -> None:
    """Says what a restore of an index, or of a part of it, does not give back."""
    found = index.files_with_set_id()
    _warn_of_set_id(notify, index, [one for one in found if not select or select.entries[one]])


def warn_of_delta(notify: Notifier, delta: Delta, index: Index) -> None:
    """The same for what a delta writes, or gives a mode to."""
    written = {*delta.files, *delta.hardlinks, *delta.metadata}
    _warn_of_set_id(notify, index, [one for one in index.files_with_set_id() if one in written])


def _warn_of_set_id(notify: Notifier, index: Index, entries: list[int]) -> None:
    if entries:
        others = len(entries) - 1
        nor = f", nor those of {counted(others, 'more file')}" if others else ""
        text = f"set-uid and set-gid bits are not given back{nor}: a snapshot keeps no owners; `chmod` sets them again"
        notify.warn("files.set_id", index.path(entries[0]), text)


def _tell(notify: Notifier, action: str, tree: Tree, entries: Iterable[int]) -> None:
    for entry in entries:
        if tree.mode[entry] & KIND_MASK != DIRECTORY:
            notify.item(action, tree.path(entry))
