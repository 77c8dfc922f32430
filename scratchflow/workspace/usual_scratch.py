"""Where nodes usually have a disk of their own, and whether the one of the profile can be used."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from scratchflow.model.errors.workspace import ScratchClosed, ScratchUnusable
from scratchflow.workspace.workspace import Workspace

SCRATCHES = ("/scratch/$USER", "/localscratch/$USER", "/local/scratch/$USER", "/local/$USER")
_ELSEWHERE = (*SCRATCHES, "/tmp/$USER")  # noqa: S108 - recommended, not used


def require_usable_scratch(
    workspace: Workspace, node: str, others: Iterable[str] = _ELSEWHERE
) -> None:
    """ScratchUnusable when scratch is not there and cannot be made; names what could be used instead.

    ScratchClosed when it is the user's own, who may not enter it or write there.
    """
    nearest = _nearest(workspace.scratch)
    if os.access(nearest, os.W_OK | os.X_OK):
        return
    is_there = nearest == workspace.scratch
    if is_there and nearest.stat().st_uid == os.geteuid():
        raise ScratchClosed(path=nearest, node=node)
    reason = "you may not write to it" if is_there else f"you may not make it in `{nearest}`"
    usable = [path for path in others if _is_writable(Path(path).parent)]
    where = f" (usable there: {', '.join(usable)})" if usable else ""
    raise ScratchUnusable(path=workspace.scratch, node=node, reason=reason, where=where)


def _is_writable(directory: Path) -> bool:
    return os.path.isdir(directory) and os.access(directory, os.W_OK | os.X_OK)


def _nearest(path: Path) -> Path:
    """The path itself, or the closest directory above that exists."""
    return next(one for one in (path, *path.parents) if os.path.isdir(one))
