"""Seeing what other hosts did to the store a moment ago.

Some network file systems remember a directory's listing: sshfs for 20 seconds, NFS for up to a minute.
They forget it as soon as this host changes the directory itself. Whoever takes the lock does that;
whoever only reads has to do it for its own sake.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from scratchflow.disk.durable import TEMP_PREFIX
from scratchflow.store.directory import FILE_MODE, StoreDirectory


def forget_old_listing(place: StoreDirectory) -> None:
    """Makes the next listing of the place a fresh one. A place that cannot be written stays as it is."""
    forget_listing(place.directory)


def forget_listing(directory: Path) -> None:
    """The same of one directory of the store."""
    mark = directory / f"{TEMP_PREFIX}look-{os.urandom(6).hex()}"
    with suppress(OSError):
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, FILE_MODE))
        os.unlink(mark)
