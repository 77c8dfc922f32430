"""A lock that goes with its process, however that ends: who holds one lives."""

from __future__ import annotations

import fcntl
import os


def lock_now(descriptor: int) -> bool:
    """Whether the lock is ours: not when somebody has it, and not where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def try_lock(descriptor: int) -> bool:
    """The same, but OSError where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: str | os.PathLike[str]) -> bool:
    """Whether a process that lives has it. OSError when the file is not there, or not to be opened."""
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return not lock_now(descriptor)
    finally:
        os.close(descriptor)
