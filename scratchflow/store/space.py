"""How much room the store seems to have. Advice, never a verdict.

Quotas, other users and compression make the number wrong in both directions, so nothing is refused
because of it; a full store is met where it happens, at the write.
"""

from __future__ import annotations

import os

from scratchflow.store.place import Place


def free_bytes(place: Place) -> int | None:
    """What `statvfs` says an ordinary user may still write here; None when it does not say.

    Asks the nearest directory that exists, so it may be asked before the place is made.
    """
    candidates = (place.directory, *place.directory.parents)
    try:
        found = os.statvfs(next(one for one in candidates if one.is_dir()))
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def shortfall_bytes(place: Place, expected_bytes: int) -> int:
    """How many bytes seem to be missing for a write of that size; 0 when it fits or nobody knows."""
    free = free_bytes(place)
    return 0 if free is None else max(0, expected_bytes - free)
