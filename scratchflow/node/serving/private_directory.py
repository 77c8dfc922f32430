"""A directory for one server's socket: short, on the node's own disk, and closed to everybody else."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scratchflow.disk.process_lock import is_locked, lock_now

# A home may be shared between nodes, and `$TMPDIR` too long: a socket's path has room for 104 bytes.
_PARENT = "/tmp"  # noqa: S108 - mkdtemp makes a new name there, for us alone
_LOCK, _NEW_LOCK = "lock", "lock.new"
_NEW_S = 60.0


@contextmanager
def private_directory(parent: str = _PARENT) -> Iterator[Path]:
    """A new directory, 0700; removed at the end. What killed servers left there goes first."""
    place = parent if os.access(parent, os.W_OK | os.X_OK) else tempfile.gettempdir()
    prefix = f"scratchflow-{os.getuid()}-"
    _remove_left_behind(place, prefix)
    path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    # Locked before it has its name: whoever sweeps meanwhile must not take it for one that was left.
    lock = os.open(path / _NEW_LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    lock_now(lock)
    os.rename(path / _NEW_LOCK, path / _LOCK)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _remove_left_behind(place: str, prefix: str) -> None:
    """The lock of a directory goes with the process that made it."""
    with suppress(OSError):
        for entry in os.scandir(place):
            if entry.name.startswith(prefix) and _is_left_behind(entry):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_left_behind(entry: os.DirEntry[str]) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
        if not entry.is_dir(follow_symlinks=False) or found.st_uid != os.getuid():
            return False
        return not is_locked(os.path.join(entry.path, _LOCK))
    except FileNotFoundError:  # killed before it was locked, or just being made
        return time.time() - found.st_mtime > _NEW_S
    except OSError:
        return False
