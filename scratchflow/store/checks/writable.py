"""Whether the store takes what is written to it now. It is tried: nothing else tells of a quota."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from scratchflow.disk.durable import TEMP_PREFIX, is_there
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.store.directory import (
    FILE_MODE,
    HEARTBEATS_NAME,
    MANIFEST_SUFFIX,
    StoreDirectory,
)
from scratchflow.store.failures import store_errors, translated

AGAIN_S = 60.0
"""Whoever looks again and again tries it only so often; so do those who look one after the other."""

# With less than that not even the lock and a manifest fit.
_TRIED_BYTES = 64 * 1024
# With less room than that, what was written a moment ago says nothing of now.
_ROOM_BYTES = 16 << 20
_TRIAL_PREFIX = f"{TEMP_PREFIX}trial-"
_OLD_S = 600.0
# Its mtime says when a trial went well.
_WRITTEN_NAME = "written"


def refuse_unwritable(place: StoreDirectory) -> None:
    """For a dry run: raises when the store's lock cannot be taken, or the store not be made, by permissions alone. Nothing is written."""
    levels = [place.directory, *place.directory.parents]
    with store_errors(place.directory):
        directory = next(one for one in levels if is_there(one))
    if os.access(directory, os.W_OK | os.X_OK, effective_ids=True):
        return
    is_read_only = os.statvfs(directory).f_flag & os.ST_RDONLY
    refused = OSError(errno.EROFS if is_read_only else errno.EACCES, "")
    raise translated(refused, place.lock if directory == place.directory else place.directory)


def write_failure(directory: Path) -> ScratchflowError | None:
    """Why nothing can be written there: the error that a backup would meet. None when all is well.

    The file has lost its name before anything is in it, so a trial that is killed leaves nothing of its size.
    """
    sweep_trials(directory, time.time())
    file = directory / f"{_TRIAL_PREFIX}{os.urandom(6).hex()}"
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
        try:
            os.unlink(file)
            # Random bytes: a file system that compresses has room for zeros.
            view = memoryview(os.urandom(_TRIED_BYTES))
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        return translated(error, directory)
    return None


def sweep_trials(directory: Path, now: float) -> None:
    """Removes what trials left there that were killed; whatever cannot be removed stays."""
    with suppress(OSError):
        for name in os.listdir(directory):
            file = directory / name
            if name.startswith(_TRIAL_PREFIX) and now - os.lstat(file).st_mtime > _OLD_S:
                os.unlink(file)


class WriteTrial:
    """`write_failure`, remembered between looks."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._tried_s = float("-inf")
        self._failure: ScratchflowError | None = None

    def failure(self, directory: Path) -> ScratchflowError | None:
        """What the last trial met, which is `AGAIN_S` old at most; None also while there is no directory.

        Nothing is tried either when a snapshot, or the trial of another look, was written within that time.
        """
        if not directory.is_dir():
            return None
        if self._monotonic() - self._tried_s >= AGAIN_S:
            self._failure = None if _was_written(directory, time.time()) else _tried(directory)
            self._tried_s = self._monotonic()
        return self._failure


def _tried(directory: Path) -> ScratchflowError | None:
    failure = write_failure(directory)
    if failure is None:
        with suppress(
            OSError
        ):  # without a heartbeat there is nowhere to note it, and the next look tries
            (directory / HEARTBEATS_NAME / _WRITTEN_NAME).touch()
    return failure


def _was_written(directory: Path, now: float) -> bool:
    """Whether the store took something within the last minute, and still looks as if it would."""
    try:
        room = os.statvfs(directory)
        if room.f_bavail * room.f_frsize < _ROOM_BYTES or not os.access(directory, os.W_OK):
            return False
        manifests = [name for name in os.listdir(directory) if name.endswith(MANIFEST_SUFFIX)]
    except OSError:
        return False
    newest = [directory / max(manifests)] if manifests else []
    return any(
        0 <= now - _mtime(path) < AGAIN_S
        for path in [*newest, directory / HEARTBEATS_NAME / _WRITTEN_NAME]
    )


def _mtime(path: Path) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return float("-inf")
