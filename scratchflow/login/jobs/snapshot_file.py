"""One small file of a snapshot, read without a node."""

from __future__ import annotations

import tempfile
from pathlib import Path

from scratchflow.archive.read.reader import open_index
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore.extract import extract
from scratchflow.model.errors import PathMissing
from scratchflow.model.snapshot import Manifest
from scratchflow.store.directory import StoreDirectory

_LIMIT_BYTES = 4 << 20


def read_in_snapshot(place: StoreDirectory, manifest: Manifest, path: str) -> bytes:
    """The content of a regular file, by its path beneath the workspace; PathMissing when there is none."""
    index = open_index(place.archive(manifest.id))
    inside = f"{manifest.workspace}/{path}"
    entry = index.find(inside.encode("utf-8", "surrogateescape"))
    missing = PathMissing(snapshot=manifest.id, path=path)
    if entry is None or index.size[entry] > _LIMIT_BYTES:
        raise missing
    with tempfile.TemporaryDirectory(prefix="scratchflow-") as name:
        chosen = Selection(index, [inside])
        extract(index, place.archive, Path(name), warn=lambda *_: None, select=chosen)
        file = Path(name, inside)
        if file.is_symlink() or not file.is_file():
            raise missing
        return file.read_bytes()
