"""What this process may not use more of: that says nothing about the file it was needed for."""

from __future__ import annotations

import errno
import os

from scratchflow.model.errors.workspace import LimitReached

_OWN_LIMITS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_FILE_SIZE = "a file may not become so large here; `ulimit -f` shows how large"
_NO_THREAD = "can't start new thread"  # Python's words for it


def limit_reached(error: BaseException) -> LimitReached | None:
    """What to tell when the error is of this process; None when it is of what it looked at, or a defect."""
    if isinstance(error, MemoryError):
        return LimitReached(reason=os.strerror(errno.ENOMEM))
    if isinstance(error, OSError) and error.errno in _OWN_LIMITS:
        return LimitReached(reason=error.strerror)
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return LimitReached(reason=_FILE_SIZE)
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return LimitReached(reason="no more threads")
    return None


def refuse_own_limit(error: Exception) -> None:
    """LimitReached when the error is of this process, and not of what it looked at."""
    reached = limit_reached(error)
    if reached:
        raise reached from error
