"""The workspace's lock: one backup, restore or export at a time on this machine; and the auto-backup's."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scratchflow.model.errors.workspace import WorkspaceBusy, WorkspaceFailed
from scratchflow.workspace.own_scratch import make_own_scratch
from scratchflow.workspace.workspace import Workspace

LOOP_LOCK = "autobackup.lock"
"""Held, beside the notes of a workspace, by the auto-backup that saves it."""
_POLL_S = 0.2
NO_LOCKS = "its file system has no file locks (flock), which keep two commands off one workspace"


@contextmanager
def alone_with(
    workspace: Workspace, *, wait_s: float, on_wait: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Holds off other scratchflows on this machine; WorkspaceBusy when one does not finish in time.

    A lock on a directory of scratch, which is a disk of this machine: there `flock` does exclude,
    and the kernel drops it with the process, however that ends.
    """
    try:
        make_own_scratch(workspace)
        descriptor = os.open(workspace.state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise WorkspaceFailed(path=workspace.scratch, reason=error.strerror) from None
    try:
        _lock(descriptor, workspace, wait_s, on_wait)
        yield
    finally:
        os.close(descriptor)


def _lock(
    descriptor: int, workspace: Workspace, wait_s: float, on_wait: Callable[[], None]
) -> None:
    deadline = time.monotonic() + wait_s
    remarked = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise WorkspaceBusy(path=workspace.path) from None
        except OSError as error:
            reason = f"{NO_LOCKS} ({error.strerror})"
            raise WorkspaceFailed(path=workspace.scratch, reason=reason) from None
        else:
            return
        if not remarked:
            on_wait()
            remarked = True
        time.sleep(_POLL_S)


def has_loop(workspace: Workspace) -> bool:
    """Whether an auto-backup of its own saves it: the kernel drops the lock with the process."""
    try:
        descriptor = os.open(workspace.state / LOOP_LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
