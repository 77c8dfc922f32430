"""This scratchflow's own files, and the name that its agent has on every cluster.

The name holds a digest of the files, so that two builds of one version never share a directory,
and each laptop calls exactly what it brought.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from scratchflow import __version__

if TYPE_CHECKING:  # where it lives depends on Python's version
    from importlib.abc import Traversable

PACKAGE = "scratchflow"
_STAYS_HERE = {f"{PACKAGE}/testing", "__pycache__"}
_DIGEST_CHARACTERS = 12


@functools.cache
def package_files() -> dict[str, bytes]:
    """Every file of the package by its path from the package's parent, byte for byte."""
    return dict(sorted(_walk(files(PACKAGE), PACKAGE)))


@functools.cache
def agent_name() -> str:
    """`0.1.0-3f2a9c61b7d0`: the same on every machine that has these files."""
    digest = hashlib.sha256()
    for path, content in package_files().items():
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return f"{__version__}-{digest.hexdigest()[:_DIGEST_CHARACTERS]}"


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        inner = f"{path}/{entry.name}"
        if entry.is_dir():
            if not {entry.name, inner} & _STAYS_HERE:
                yield from _walk(entry, inner)
        elif not entry.name.endswith(".pyc"):
            yield inner, entry.read_bytes()
