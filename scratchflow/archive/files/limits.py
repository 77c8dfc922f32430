"""What this process may not use more of: that says nothing about the file it was needed for."""

from __future__ import annotations

import errno

from scratchflow.model.errors.workspace import LimitReached

_OWN_LIMITS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}


def refuse_own_limit(error: OSError) -> None:
    """LimitReached when the error is of this process, and not of what it looked at."""
    if error.errno in _OWN_LIMITS:
        raise LimitReached(reason=error.strerror) from error
