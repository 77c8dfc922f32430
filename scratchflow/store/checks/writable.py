"""Whether the store takes what is written to it now. It is tried: nothing else tells of a quota."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from scratchflow.disk.durable import TEMP_PREFIX, write_new
from scratchflow.model.errors import ScratchflowError
from scratchflow.store.directory import FILE_MODE
from scratchflow.store.failures import translated

AGAIN_S = 60.0
"""Whoever looks again and again tries it only so often."""

# With less than that not even the lock and a manifest fit.
_TRIED_BYTES = 64 * 1024


def write_failure(directory: Path) -> ScratchflowError | None:
    """Why nothing can be written there: the error that a backup would meet. None when all is well."""
    file = directory / f"{TEMP_PREFIX}trial-{os.urandom(6).hex()}"
    try:
        # Random bytes: a file system that compresses has room for zeros.
        write_new(file, os.urandom(_TRIED_BYTES), mode=FILE_MODE)
    except OSError as error:
        return translated(error, directory)
    finally:
        with suppress(OSError):
            os.unlink(file)
    return None


class WriteTrial:
    """`write_failure`, remembered between looks."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._tried_s = float("-inf")
        self._failure: ScratchflowError | None = None

    def failure(self, directory: Path) -> ScratchflowError | None:
        """What the last trial met, which is `AGAIN_S` old at most; None also while there is no directory."""
        if not directory.is_dir():
            return None
        if self._monotonic() - self._tried_s >= AGAIN_S:
            self._failure, self._tried_s = write_failure(directory), self._monotonic()
        return self._failure
