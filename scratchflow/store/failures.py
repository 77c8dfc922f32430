"""Turns errors of the store's file system into errors that users can act on.

Only errors of the store pass through here. An error while reading the workspace is a warning and
has its own handler elsewhere: the two must never meet, or a full store would look like a file
that could not be read.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.store import NoSpace, StoreUnusable

_FULL = {errno.ENOSPC, errno.EDQUOT}

_ANOTHER = "`scratchflow config set store PATH` takes another directory on shared storage"
_NOT_OURS = (
    f"it must be a directory that you may write to; `ls -ld {{path}}` shows its owner, {_ANOTHER}"
)
_REMEDIES = {
    errno.EACCES: _NOT_OURS,
    errno.EPERM: _NOT_OURS,
    errno.EROFS: f"it is mounted read-only here; your cluster's staff may know until when, {_ANOTHER}",
    errno.ENOTDIR: "set `store` in the profile to a directory",
    errno.EFBIG: "a file size limit stands in the way; `ulimit -f` shows it",
}
_OTHER_REMEDY = "try again; if it stays, tell your cluster's staff what is said above"


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turns any OSError of the block into NoSpace or StoreUnusable about `path`."""
    try:
        yield
    except OSError as error:
        raise translated(error, path) from error


def translated(error: OSError, path: Path) -> ScratchflowError:
    """The same failure as the user's error: full disk or quota, or a store that does not work."""
    number = error.errno or 0
    reason = os.strerror(number) if number else str(error)
    if number in _FULL:
        return NoSpace(path=path, reason=reason)
    remedy = _REMEDIES.get(number, _OTHER_REMEDY)
    if (
        "{path}" in remedy
    ):  # not for a mount that gives no answer: looking there may take as long again
        from shlex import quote  # not for every start

        remedy = remedy.replace("{path}", quote(str(_seen(path))))
    return StoreUnusable(path=path, reason=reason, remedy=remedy)


def _seen(path: Path) -> Path:
    """What of it can be looked at: itself, or the nearest directory above that is there."""
    return next((one for one in (path, *path.parents) if os.path.lexists(one)), path)
