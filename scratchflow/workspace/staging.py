"""A restore under construction beside the workspace, and the moment it takes the workspace's place."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path

from scratchflow.disk.durable import is_there
from scratchflow.disk.trees import may_hold_something, remove_tree, rename_new
from scratchflow.workspace.workspace import Workspace

_PREFIX = "incoming-"


def begin_incoming(workspace: Workspace, token: str) -> Path:
    """An empty directory of this run's own, on the workspace's own file system."""
    incoming = workspace.state / f"{_PREFIX}{token}"
    incoming.mkdir(parents=True, mode=0o700)
    return incoming


def sweep_incoming(workspace: Workspace) -> None:
    """Removes what killed runs left; for whoever has the workspace to itself.

    What cannot be removed, because something is mounted in it, say, is left for another time.
    """
    for name in os.listdir(workspace.state):
        if name.startswith(_PREFIX):
            with suppress(OSError):
                remove_tree(workspace.state / name)


def occupied_roots(scratch: Path, roots: Sequence[str]) -> list[str]:
    """Those roots that hold something, as far as anybody can tell."""
    return [root for root in roots if may_hold_something(scratch / root)]


def swap_in(
    incoming: Path,
    scratch: Path,
    roots: Sequence[str],
    snapshot: str,
    when_changed: Callable[[], None] = lambda: None,
) -> list[str]:
    """Renames each root into place; what is there is moved to `<root>.before-<id>`, never merged.

    Killed in between, a root is missing, old or new, never mixed; what was moved aside stays aside.
    `when_changed` is called after each rename.
    """
    moved: list[str] = []
    for root in roots:
        target = scratch / root
        if may_hold_something(target):
            aside = _free_name(target, snapshot)
            rename_new(target, aside)
            when_changed()
            moved.append(str(aside))
        rename_new(incoming / root, target)
        when_changed()
    return moved


def _free_name(target: Path, snapshot: str) -> Path:
    """`<target>.before-<id>`, with a number when an earlier one is still there."""
    plain = _aside_name(target, snapshot)
    candidates = (plain.with_name(f"{plain.name}.{number}") for number in range(2, 10_000))
    return next(path for path in (plain, *candidates) if not is_there(path))


def _aside_name(target: Path, snapshot: str) -> Path:
    return target.with_name(f"{target.name}.before-{snapshot}")


def moved_aside(target: Path, snapshot: str) -> Path | None:
    """What a restore of this snapshot moved aside last, if it is still there."""
    plain = _aside_name(target, snapshot)
    numbered = [path for path in plain.parent.glob(f"{escape(plain.name)}.*") if _number(path)]
    candidates = sorted(numbered, key=_number, reverse=True)
    return next((path for path in (*candidates, plain) if is_there(path)), None)


def _number(path: Path) -> int:
    last = path.name.rpartition(".")[2]
    return int(last) if last.isascii() and last.isdigit() else 0
