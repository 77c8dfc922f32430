"""Directories that were the workspace and lie beside it under other names now: what changed in them no snapshot has.

`mv work thesis; mkdir work`, or a restore after the first of these, makes another directory the workspace. The one
that was it is known by its number until it is gone, or until it has its name back.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.decoding import decoded
from scratchflow.workspace.workspace import Workspace

_NAME = "former.json"


class Former(msgspec.Struct, frozen=True):
    """A directory by its number, and the snapshot that it equalled when it was last known to be the workspace."""

    inode: int
    snapshot: str


def number_of(directory: Path) -> int:
    """The number by which a directory is known under any name; 0 when it is not there."""
    try:
        return os.lstat(directory).st_ino
    except OSError:
        return 0


def note_former(workspace: Workspace, last: Former) -> None:
    """Before another directory is noted as the workspace: the last one that was, if it lies beside it."""
    if last.inode == number_of(workspace.path) or not last.inode:
        return
    known = read_former(workspace)
    there = {one.inode for one in beside(workspace, [*known, last])}
    kept = [one for one in known if one.inode in there - {last.inode}]
    if last.inode in there:
        kept.append(last)
    if kept != known:
        workspace.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(workspace.state / _NAME, msgspec.json.encode(kept) + b"\n")


def read_former(workspace: Workspace) -> list[Former]:
    """All that were noted, also those that are gone by now."""
    try:
        return decoded((workspace.state / _NAME).read_bytes(), list[Former])
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return []


def beside(workspace: Workspace, wanted: list[Former]) -> dict[Former, Path]:
    """Where those lie that are beside the workspace. What a restore has put there is its own affair."""
    by_number = {one.inode: one for one in wanted}
    found: dict[Former, Path] = {}
    with suppress(OSError):  # a symlink in its place leads to the workspace itself
        by_number.pop(os.stat(workspace.path).st_ino, None)
    with suppress(OSError), os.scandir(workspace.path.parent) as entries:
        for entry in entries:
            former = by_number.get(entry.inode())
            is_ours = entry.name.startswith(".") or ".before-" in entry.name
            if former is None or is_ours or entry.name == workspace.path.name:
                continue
            if entry.is_dir(follow_symlinks=False):
                found[former] = Path(entry.path)
    return found
