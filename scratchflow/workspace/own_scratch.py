"""Checks who owns scratch: anybody who may write to it could swap the workspace for another one.

The directories above scratch are the site's: they are not looked at.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat

from scratchflow.disk.private import PRIVATE, make_private_directories
from scratchflow.model.errors.workspace import ScratchUnsafe
from scratchflow.workspace.workspace import Workspace


def make_own_scratch(workspace: Workspace) -> None:
    """Scratch and the directory of our notes, made if they are missing, and ours alone.

    ScratchUnsafe when somebody else made them, or may write to them.
    """
    require_own_scratch(workspace)
    make_private_directories(workspace.state)
    require_own_scratch(workspace)  # again: somebody may have been faster
    for directory in _notes(workspace):
        if stat.S_IMODE(os.stat(directory).st_mode) != PRIVATE:
            os.chmod(directory, PRIVATE)


def require_own_scratch(workspace: Workspace) -> None:
    """ScratchUnsafe unless what is there of scratch is ours, or root's, and closed to others."""
    found = _look(str(workspace.scratch))
    if found is None:
        return
    _require_owner(str(workspace.scratch), found, {os.geteuid(), 0})
    if _others_may_write(found):
        if not found.st_mode & stat.S_ISVTX:
            from shlex import quote  # not for every start

            raise ScratchUnsafe(
                path=workspace.scratch,
                reason="others may write to it, and could replace your files",
                remedy=f"look at what is in it, then `chmod go-w {quote(str(workspace.scratch))}`",
            )
        # Shared, like /tmp: others cannot rename what is ours, but may have been here first.
        for root in workspace.roots:
            _require_ours_if_there(str(workspace.scratch / root.split("/")[0]))
    for directory in _notes(workspace):
        _require_ours_if_there(directory)


def _notes(workspace: Workspace) -> list[str]:
    """The directories of our notes, from scratch down."""
    inside = workspace.state.relative_to(workspace.scratch).parts
    return [str(workspace.scratch.joinpath(*inside[:end])) for end in range(1, len(inside) + 1)]


def _require_ours_if_there(path: str) -> None:
    found = _look(path)
    if found is not None:
        _require_owner(path, found, {os.geteuid()})


def _require_owner(path: str, found: os.stat_result, owners: set[int]) -> None:
    if found.st_uid not in owners:
        raise ScratchUnsafe(
            path=path,
            reason=f"it belongs to {_user(found.st_uid)}, not to you",
            remedy="`scratchflow config set scratch PATH` with a directory of your own",
        )


def _look(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _others_may_write(found: os.stat_result) -> bool:
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _is_private_group(found.st_gid)


def _is_private_group(gid: int) -> bool:
    """Whether it is the group that many systems make for each user, with nobody else in it."""
    try:
        user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
