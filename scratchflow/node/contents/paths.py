"""A path that somebody typed, found inside a snapshot."""

from __future__ import annotations

import os
import posixpath
from datetime import datetime, timezone

from scratchflow.archive.read.selection import Selection
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, SYMLINK
from scratchflow.model.errors.snapshots import PathAmbiguous
from scratchflow.model.events import path_fields
from scratchflow.model.results.snapshots import PathEntry
from scratchflow.model.text import printable
from scratchflow.workspace.workspace import Workspace

_KINDS = {DIRECTORY: "directory", SYMLINK: "link"}
# As many as the kernel follows.
_MOST_LINKS = 40
_SHOWN = 3


def relative_path(path: str, workspace: Workspace) -> str:
    """A whole path of this machine as one from scratch down; others stay."""
    return path.removeprefix(f"{workspace.scratch}/")


def names_of(path: str, workspace: Workspace) -> list[bytes]:
    """What a path without globs may mean from scratch down: just that, or from the workspace down."""
    relative = relative_path(path, workspace).strip("/")
    inside = posixpath.normpath(f"{workspace.name}/{relative}")
    return [os.fsencode(name) for name in (relative, inside)]


def matching(index: Index, path: str, workspace: Workspace) -> list[int]:
    """The entries that a path or glob means, as `restore --path` takes it; none when there is none."""
    relative = relative_path(path, workspace)
    return Selection(index, [relative], within=workspace.name).matched


def require_one(index: Index, path: str, entries: list[int]) -> int:
    """The only entry; PathAmbiguous names a few when a glob fits more."""
    if len(entries) == 1:
        return entries[0]
    names = [f"`{printable(os.fsdecode(index.path(one)))}`" for one in entries[:_SHOWN]]
    more = ["…"] if len(entries) > _SHOWN else []
    raise PathAmbiguous(
        path=path, count=len(entries), snapshot=index.id, matches=", ".join([*names, *more])
    )


def link_above(index: Index, path: str, workspace: Workspace) -> int | None:
    """The symlink that a path goes through, when that leads out of the snapshot: what is behind it is in none."""
    scratch = os.fsencode(workspace.scratch)
    for name in names_of(path, workspace):
        parts = name.split(b"/")
        for count in range(1, len(parts)):
            above = b"/".join(parts[:count])
            entry = index.find(above)
            if entry is None:
                break
            if index.mode[entry] & KIND_MASK == SYMLINK:
                return entry if follow(index, above, scratch) is None else None
    return None


def follow(index: Index, path: bytes, scratch: bytes) -> int | None:
    """The entry that a path leads to through symlinks; None when it leads out of the snapshot, or nowhere.

    Nothing is looked up on disk: what a link means now is not what it meant then.
    """
    left = path.split(b"/")[::-1]
    at: list[bytes] = []
    links = 0
    while left:
        name = left.pop()
        if name in {b"", b"."}:
            continue
        if name == b"..":
            if not at:
                return None
            at.pop()
            continue
        entry = index.find(b"/".join([*at, name]))
        if entry is None:
            return None
        if index.mode[entry] & KIND_MASK != SYMLINK:
            at.append(name)
            continue
        links += 1
        target = index.target(entry)
        if target.startswith(b"/"):
            if not target.startswith(scratch + b"/"):
                return None
            target, at = target[len(scratch) + 1 :], []
        if links > _MOST_LINKS:
            return None
        left.extend(target.split(b"/")[::-1])
    return index.find(b"/".join(at)) if at else None


def entry_of(index: Index, entry: int) -> PathEntry:
    """One entry as results tell it."""
    mode = index.mode[entry]
    kind = kind_word(mode)
    path = index.path(entry)
    names = path_fields(path)
    return PathEntry(
        kind=kind,  # type: ignore[arg-type]  # one of the three words
        mode=mode_word(mode),
        size=index.size[entry],
        mtime=time_word(index.mtime_ns[entry]),
        typed=None if "path" in names else typed(path),
        target=printable(os.fsdecode(index.target(entry))) if kind == "link" else None,
        **names,
    )


def kind_word(mode: int) -> str:
    """`file`, `directory` or `link`."""
    return _KINDS.get(mode & KIND_MASK, "file")


def mode_word(mode: int) -> str:
    """The permissions, like `0644`."""
    return f"{mode & 0o7777:04o}"


def time_word(mtime_ns: int) -> str:
    """To the second, in UTC."""
    seconds = mtime_ns // 10**9
    try:
        return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):  # a year that the calendar does not have
        return f"@{seconds}"


def typed(path: bytes) -> str:
    """A glob of UTF-8 that fits a path: no other text can carry a name that is not UTF-8."""
    return "".join(
        "?" if "\udc80" <= one <= "\udcff" else f"[{one}]" if one in "*?[" else one
        for one in path.decode("utf-8", "surrogateescape")
    )
