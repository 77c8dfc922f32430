"""A restore under construction beside the workspace, and the moment it takes the workspace's place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from scratchflow.disk.durable import is_there
from scratchflow.disk.trees import is_empty_or_missing, remove_tree, rename_new
from scratchflow.model.errors import TargetNotEmpty
from scratchflow.workspace.place import Workspace


def begin_incoming(workspace: Workspace, name: str = "incoming") -> Path:
    """An empty directory on the workspace's own file system; what a killed restore left is removed."""
    incoming = workspace.state / name
    remove_tree(incoming)
    incoming.mkdir(parents=True, mode=0o700)
    return incoming


def occupied_roots(scratch: Path, roots: Sequence[str]) -> list[str]:
    """Those roots that hold something."""
    return [root for root in roots if not is_empty_or_missing(scratch / root)]


def swap_in(incoming: Path, scratch: Path, roots: Sequence[str], snapshot: str) -> list[str]:
    """Renames each root into place; what is there is moved to `<root>.before-<id>`, never merged.

    Killed in between, a root is missing, old or new, never mixed; what was moved aside stays aside.
    """
    moved: list[str] = []
    for root in roots:
        if not is_there(incoming / root):
            continue
        target = scratch / root
        if not is_empty_or_missing(target):
            aside = _free_name(target, snapshot)
            rename_new(target, aside)
            moved.append(str(aside))
        rename_new(incoming / root, target)
    return moved


def merge_in(incoming: Path, scratch: Path) -> None:
    """Moves every file and link into the tree that is there, each old or new at any moment."""
    for source in _files_below(incoming):
        target = scratch / source.relative_to(incoming)
        if target.is_dir() and not target.is_symlink():
            raise TargetNotEmpty(target=target)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(source, target)


def _files_below(directory: Path) -> Iterator[Path]:
    for parent, names, files in os.walk(directory):
        links = [name for name in names if os.path.islink(os.path.join(parent, name))]
        for name in [*files, *links]:
            yield Path(parent, name)


def _free_name(target: Path, snapshot: str) -> Path:
    """`<target>.before-<id>`, with a number when an earlier one is still there."""
    plain = target.with_name(f"{target.name}.before-{snapshot}")
    candidates = (plain.with_name(f"{plain.name}.{number}") for number in range(2, 10_000))
    return next(path for path in (plain, *candidates) if not is_there(path))
