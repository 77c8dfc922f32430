"""One auto-backup a node: a lock on the node's own disk, which the kernel drops with the process."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scratchflow.model.errors.workspace import WorkspaceFailed
from scratchflow.node.autobackup.signals import is_agent
from scratchflow.node.context import NodeContext
from scratchflow.process.waiting import looks
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import living
from scratchflow.workspace.lock import LOOP_LOCK, NO_LOCKS

_MOST_BYTES = 8192
_TAKE_TURNS_S = 40.0
_LOOK_S = 0.2


@contextmanager
def only_one(context: NodeContext, place: StoreDirectory, job_name: str) -> Iterator[bool]:
    """Whether this one may run; until the end of the block it is the only one.

    The one of a job that has just ended here may still be saving: its end is waited for. One that saves to
    another store, because the profile was changed since it started, is told to end.
    """
    context.workspace.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(
        context.workspace.state / LOOP_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
    )
    own = _Holder(pid=os.getpid(), store=str(place.directory))
    alone = False
    try:
        for _ in looks(_TAKE_TURNS_S, _LOOK_S):
            alone = _is_locked_now(descriptor, context.workspace.scratch)
            if alone or living(place, context.node, context.job_id, job_name):
                break
            _end_other_store(descriptor, own)
        if alone:
            _write_holder(descriptor, msgspec.json.encode(own))
        try:
            yield alone
        finally:
            if alone:
                _write_holder(descriptor, b"")
    finally:
        os.close(descriptor)


class _Holder(msgspec.Struct, frozen=True):
    """The loop that holds the lock, as it wrote into it."""

    pid: int
    store: str


def _write_holder(descriptor: int, content: bytes) -> None:
    """On a full scratch nothing is written: a later start then cannot tell which store we save to."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, content, 0)


def _end_other_store(descriptor: int, own: _Holder) -> None:
    """Ends the holder of the lock, as `autobackup off` would, if it saves to another store."""
    try:
        holder = msgspec.json.decode(os.pread(descriptor, _MOST_BYTES, 0), type=_Holder)
    except msgspec.DecodeError:  # of a version that wrote nothing, or just starting
        return
    if holder.store != own.store and is_agent(holder.pid):
        with suppress(OSError):
            os.kill(holder.pid, signal.SIGUSR1)


def _is_locked_now(descriptor: int, scratch: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise WorkspaceFailed(path=scratch, reason=f"{NO_LOCKS} ({error.strerror})") from None
    return True
