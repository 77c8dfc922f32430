"""What a submitted job needs of its snapshot, looked at without a node; links inside the workspace are followed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore.extract import extract
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.snapshots import PathMissing
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import printable
from scratchflow.store.directory import StoreDirectory

_LIMIT_BYTES = 4 << 20
_MOST_LINKS = 40  # as the kernel follows
_COMMAND = "scratchflow submit"


def read_in_snapshot(place: StoreDirectory, manifest: Manifest, path: str) -> bytes:
    """The content of a file, by its path beneath the workspace.

    PathMissing when there is none; UsageInvalid when it is no regular file, or a link that leads out of the workspace.
    """
    index = open_index(place.archive(manifest.id))
    missing = PathMissing(snapshot=manifest.id, path=path)
    inside = _followed(index, os.fsencode(manifest.workspace), path, missing)
    if inside is None:
        why = "is a link that leads out of the workspace, where the job does not find it"
        raise _unusable(path, f"{why}: copy the script into the workspace")
    entry = index.find(inside)
    if entry is None:
        raise missing
    if index.mode[entry] & KIND_MASK != REGULAR:
        raise _unusable(path, "is a directory, not a batch script")
    if index.size[entry] > _LIMIT_BYTES:
        raise _unusable(path, f"is larger than {_LIMIT_BYTES >> 20} MiB, and so no batch script")
    with tempfile.TemporaryDirectory(prefix="scratchflow-") as name:
        chosen = Selection(index, [os.fsdecode(inside)])
        extract(index, place.archive, Path(name), warn=lambda *_: None, select=chosen)
        return Path(name, os.fsdecode(inside)).read_bytes()


def require_directory(place: StoreDirectory, manifest: Manifest, path: str) -> None:
    """UsageInvalid when no command could start there. Where a link leads out of the workspace, only the node knows."""
    index = open_index(place.archive(manifest.id))
    missing = PathMissing(snapshot=manifest.id, path=path)
    try:
        inside = _followed(index, os.fsencode(manifest.workspace), path, missing)
    except PathMissing as error:
        problem = "is not in the workspace, as of the snapshot that the job would run from"
        raise _unusable(path, f"{problem}: `--cwd` takes one of its directories") from error
    if inside is None:
        return
    entry = index.find(inside)
    if entry is None or index.mode[entry] & KIND_MASK != DIRECTORY:
        raise _unusable(path, "is no directory, and `--cwd` takes one")


def _followed(index: Index, workspace: bytes, path: str, missing: PathMissing) -> bytes | None:
    """The path from scratch down with links resolved: the job's copy has the same ones, and they lead to the same file.

    None when one leads out of the workspace.
    """
    here = [workspace]
    waiting = path.encode("utf-8", "surrogateescape").split(b"/")
    links = 0
    while waiting:
        name = waiting.pop(0)
        if name == b"..":
            if not here:
                return None
            here.pop()
        elif name not in {b"", b"."}:
            here.append(name)
        entry = index.find(b"/".join(here)) if here else None
        if entry is not None and index.mode[entry] & KIND_MASK == SYMLINK:
            links += 1
            target = index.target(entry)
            if target.startswith(b"/"):
                return None
            if links > _MOST_LINKS:
                raise _unusable(path, "is a link that leads back to itself")
            here.pop()
            waiting = [*target.split(b"/"), *waiting]
        elif entry is None and here:
            if here[0] == workspace:
                raise missing
            return None
    return b"/".join(here) if here[:1] == [workspace] else None


def _unusable(path: str, why: str) -> UsageInvalid:
    return UsageInvalid(problem=f"`{printable(path)}` {why}", command=_COMMAND)
