"""Directories of our own: 0700, whatever the umask."""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE = 0o700


def make_private_directories(directory: Path) -> None:
    """Makes a directory and those above it that are missing; those that are there stay as they are.

    FileExistsError when something else has the name.
    """
    if directory.is_dir():
        return
    make_private_directories(directory.parent)
    try:
        os.mkdir(directory, PRIVATE)
    except FileExistsError:
        if directory.is_dir():  # somebody else has just made it
            return
        raise
    # mkdir subtracts the umask, which may take bits that the owner needs.
    os.chmod(directory, PRIVATE)
