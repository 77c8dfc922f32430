"""The shrink guard: notices a workspace that lost most of its files since its last snapshot."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from scratchflow.archive.tree.root_sizes import RootSize
from scratchflow.model.errors.workspace import ShrinkGuard
from scratchflow.model.text import counted, printable
from scratchflow.model.units import format_size

# Losing this much is an edit, not a disaster: rewriting one small file must not need a flag.
_SMALL_LOSS_BYTES = 64 * 1024


class Loss(msgspec.Struct, frozen=True):
    """What one file lost since the parent snapshot."""

    path: str
    bytes: int
    is_gone: bool


class Shrink(msgspec.Struct, frozen=True):
    """A root that fell under half of what the parent snapshot holds of it."""

    root: str
    before: RootSize
    after: RootSize
    # A file of the parent snapshot that is on disk all the same: it is not saved any more.
    still_there: str | None = None
    # The file that lost more than any other; None when no file of that name lost anything.
    largest: Loss | None = None

    def refusal(self, parent: str) -> ShrinkGuard:
        """The error for a person who has to decide."""
        before, after = size_in_words(self.before), size_in_words(self.after)
        unsaved = self._unsaved_in_words()
        return ShrinkGuard(
            root=self.root,
            before=before,
            after=after,
            parent=parent,
            lost=self._lost_in_words(),
            unsaved=unsaved,
        )

    def in_words(self) -> str:
        """What is left, and what there was."""
        was, now = size_in_words(self.before), size_in_words(self.after)
        sizes = f"`{self.root}` holds {now} instead of {was}{printable(self._lost_in_words())}"
        return f"{sizes}{printable(self._unsaved_in_words())}"

    def _lost_in_words(self) -> str:
        if self.largest is None:
            return ""
        path, size = self.largest.path, format_size(self.largest.bytes)
        lost = f": `{path}` ({size}) is gone" if self.largest.is_gone else f": `{path}` lost {size}"
        is_all = self.largest.bytes >= self.before.bytes - self.after.bytes
        is_one = self.before.files - self.after.files <= 1
        return lost if is_all and is_one else f"{lost}, among others"

    def _unsaved_in_words(self) -> str:
        if self.still_there is None:
            return ""
        return (
            f" (some files, like `{self.still_there}`, are still there but are excluded now:"
            " see `backup.exclude` and `.scratchignore`)"
        )


def find_shrink(before: Mapping[str, RootSize], after: Mapping[str, RootSize]) -> Shrink | None:
    """The first root of both that fell under half of its files or bytes; None when none did."""
    for root, size in before.items():
        if root in after and is_shrunk(size, after[root]):
            return Shrink(root, size, after[root])
    return None


def is_shrunk(before: RootSize, after: RootSize) -> bool:
    """Whether less than half of the files or bytes is left.

    Exactly half is not (two files, one deleted). Fewer bytes count only when more than 64 KiB are
    gone. A root without files, or whose files are all empty, counts when it had some.
    """
    return after.files * 2 < before.files or _lost_bytes(before.bytes, after.bytes)


def _lost_bytes(before: int, after: int) -> bool:
    if before > 0 and after == 0:
        return True
    return after * 2 < before and before - after > _SMALL_LOSS_BYTES


def size_in_words(size: RootSize) -> str:
    """Files and bytes."""
    return f"{counted(size.files, 'file')} ({format_size(size.bytes)})"
