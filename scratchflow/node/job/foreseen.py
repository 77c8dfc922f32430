"""What a dry run of `submit` reads in the workspace itself, because no snapshot has it yet."""

from __future__ import annotations

import os
import stat
from pathlib import PurePosixPath

from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.node.context import NodeContext

# Its `#SBATCH` lines stand before the first command.
_MOST_BYTES = 1 << 16


def script_there(here: NodeContext, path: str) -> str | None:
    """How the script begins; None when it is no file of the workspace that a backup would save."""
    inside = _saved_path(here, path)
    if inside is None:
        return None
    try:
        descriptor = os.open(here.workspace.path / inside, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return os.read(descriptor, _MOST_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def is_directory_there(here: NodeContext, path: str) -> bool:
    """Whether it is a directory of the workspace that a backup would save."""
    inside = _saved_path(here, path)
    return inside is not None and os.path.isdir(here.workspace.path / inside)


def _saved_path(here: NodeContext, path: str) -> str | None:
    """Where it is beneath the workspace, links followed; None when that is elsewhere, or stays out of snapshots."""
    top = os.path.realpath(here.workspace.path)
    real = os.path.relpath(os.path.realpath(here.workspace.path / path), top)
    is_outside = real.split("/")[0] == ".."
    return None if is_outside or any(_is_left_out(here, one) for one in (path, real)) else real


def _is_left_out(here: NodeContext, path: str) -> bool:
    descriptor = os.open(here.workspace.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        matches = IgnoreRules(here.profile.backup.exclude).for_root(descriptor)
    finally:
        os.close(descriptor)
    if matches is None:
        return False
    whole = PurePosixPath(path)
    return any(
        matches(os.fsencode(str(one)), os.fsencode(one.name), one != whole)
        for one in (whole, *whole.parents)
        if one.name
    )
