"""Whether snapshots have anything of their workspace: one in which nothing was done yet may be filled, or replaced."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.snapshot import Manifest
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.directory import StoreDirectory

if TYPE_CHECKING:
    from scratchflow.archive.tree.index import Index


def is_vacant(place: StoreDirectory, catalogue: Catalogue) -> bool:
    """Whether no snapshot has a file or a link of the workspace itself, as after `up` on a new cluster.

    What `backup.also` adds does not count. Not while a snapshot cannot be read: nobody knows what it has.
    """
    newest_first = reversed(catalogue.snapshots)
    return not catalogue.skipped and all(lacks_workspace(place, one) for one in newest_first)


def lacks_workspace(place: StoreDirectory, manifest: Manifest) -> bool:
    """Whether the snapshot has nothing but what `backup.also` adds; not while its index cannot be read."""
    if not manifest.files and not manifest.links:
        return True
    if not manifest.also:
        return False
    from scratchflow.archive.read.archive_file import open_index  # `up` asks, and seldom gets here

    try:
        index = open_index(place.archive(manifest.id))
    except ScratchflowError:  # it may have had anything
        return False
    return _is_all_beside(index, manifest)


def _is_all_beside(index: Index, manifest: Manifest) -> bool:
    from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK

    own = os.fsencode(manifest.workspace) + b"/"
    beside = tuple(os.fsencode(root) + b"/" for root in manifest.also)
    paths = (
        index.path(entry) + b"/"
        for entry, mode in enumerate(index.mode)
        if mode & KIND_MASK != DIRECTORY
    )
    return all(path.startswith(beside) and not path.startswith(own) for path in paths)
