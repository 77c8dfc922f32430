"""Where the names of an archive that comes from outside go: which of them become which roots."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK
from scratchflow.workspace.workspace import STATE_NAME, Workspace


class Landing(msgspec.Struct, frozen=True):
    """What becomes of each name, and which roots that makes; the workspace is always one."""

    roots: list[str]
    beneath: str = ""  # put before every name
    renamed: tuple[str, str] | None = None  # the archive's own workspace, and ours

    @property
    def changes_nothing(self) -> bool:
        """Whether every name stays as it is."""
        return not self.beneath and self.renamed is None

    def path(self, name: bytes) -> bytes:
        """The name that a member gets; empty for a directory that is not needed."""
        if self.beneath:
            return os.fsencode(self.beneath) + b"/" + name
        if self.renamed is None:
            return name
        old, new = map(os.fsencode, self.renamed)
        if _is_within(name, old):
            return new + name[len(old) :]
        others = [os.fsencode(root) for root in self.roots if root != self.renamed[1]]
        if any(_is_within(name, root) or _is_within(root, name) for root in others):
            return name
        return b""


def landing_of_foreign(names: Iterable[tuple[bytes, bool]], workspace: Workspace) -> Landing:
    """All names as they are when all lie in the profile's roots; else all beneath the workspace.

    Never some of them so and some so: then two files could meet at one path.
    """
    if _all_fit(names, workspace.roots):
        return Landing(workspace.roots)
    return _all_beneath(workspace)


def landing_of_own(index: Index, workspace: Workspace) -> Landing:
    """An archive of ours says what its roots are; its own workspace becomes this profile's."""
    roots = index.roots or [os.fsdecode(name) for name in index.top_names()]
    if not _are_usable(roots) or not _all_fit(_names(index), roots):
        return _all_beneath(workspace)
    if workspace.name in roots:
        return Landing(roots)
    taken = [os.fsencode(root) for root in roots[1:]]
    ours = os.fsencode(workspace.name)
    if any(_is_within(ours, root) or _is_within(root, ours) for root in taken):
        return _all_beneath(workspace)
    return Landing([workspace.name, *roots[1:]], renamed=(roots[0], workspace.name))


def _all_beneath(workspace: Workspace) -> Landing:
    return Landing([workspace.name], beneath=workspace.name)


def _are_usable(roots: Sequence[str]) -> bool:
    """Whether they may be directories beneath scratch: the archive is anybody's."""
    return bool(roots) and all(map(_is_usable, roots))


def _is_usable(root: str) -> bool:
    parts = root.split("/")
    if parts[0] == STATE_NAME or "\0" in root or {"", ".", ".."} & {*parts}:
        return False
    try:
        root.encode()
    except UnicodeEncodeError:  # a manifest is JSON
        return False
    return True


def _names(index: Index) -> Iterator[tuple[bytes, bool]]:
    everything = bytearray(b"\1") * len(index)
    for entry, _, path, _ in index.in_tar_order(everything):
        yield path, index.mode[entry] & KIND_MASK == DIRECTORY


def _all_fit(names: Iterable[tuple[bytes, bool]], roots: Sequence[str]) -> bool:
    """Whether everything lies in a root, each root being a directory, or is a directory above one."""
    wanted = [os.fsencode(root) for root in roots]
    return all(_fits(name, wanted, is_directory=is_directory) for name, is_directory in names)


def _fits(name: bytes, roots: Sequence[bytes], *, is_directory: bool) -> bool:
    if is_directory:
        return not name or any(_is_within(name, one) or _is_within(one, name) for one in roots)
    return any(_is_within(name, one) and name != one for one in roots)


def _is_within(name: bytes, root: bytes) -> bool:
    return name == root or name.startswith(root + b"/")
