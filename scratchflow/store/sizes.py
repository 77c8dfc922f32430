"""How much room the snapshots take in the store."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.store.directory import ARCHIVE_SUFFIX, MANIFEST_SUFFIX, StoreDirectory
from scratchflow.store.failures import store_errors


def bytes_of_snapshots(place: StoreDirectory) -> int:
    """The sizes of all archives and manifests, also of archives whose own snapshot was removed.

    What `snapshots list -v` says of each was true when it was taken: `prune` may have made its archive smaller.
    """
    total = 0
    with store_errors(place.directory):
        try:
            entries = list(os.scandir(place.directory))
        except FileNotFoundError:
            return 0
        for entry in entries:
            if not is_snapshot_id(_stem(entry.name)):
                continue
            with suppress(FileNotFoundError):  # pruned meanwhile
                found = entry.stat(follow_symlinks=False)
                total += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return total


def _stem(name: str) -> str:
    suffix = next((one for one in (ARCHIVE_SUFFIX, MANIFEST_SUFFIX) if name.endswith(one)), name)
    return name.removesuffix(suffix)
