"""How a snapshot is named on the command line; `store/names.py` finds it."""

from __future__ import annotations

import time
from collections.abc import Iterable

from scratchflow.model.requests import Offsets
from scratchflow.model.zone import local_zone

LATEST = "latest"

NAMED = (
    '`latest`, `latest~2`, a part of an id like `570643`, a time like `yesterday`, `"2 hours ago"`,'
    ' `14:30` or `2026-11-15`, or `@"MESSAGE"`.'
)


# Why a snapshot stays, where the word of the JSON does not say it by itself.
_STAYS = {
    "safety": "taken before a restore",
    "full": "newest full one",
    "job": "code of a job",
    "verified": "among the last that were read back",
    **{rule: f"keep_{rule}" for rule in ("last", "hourly", "daily", "weekly")},
}


def stays_in_words(reasons: Iterable[str]) -> list[str]:
    """`kept`, `taken before a restore`."""
    return [_STAYS.get(reason, reason) for reason in reasons]


def bracketed(marks: Iterable[str]) -> str:
    """`[kept, taken before a restore]`; nothing when there is no mark."""
    words = ", ".join(marks)
    return f"[{words}]" if words else ""


def zone_for(*wanted: str) -> Offsets:
    """This machine's zone for the request, when a snapshot may be named by a time."""
    if all(one == LATEST for one in wanted):
        return ()
    return local_zone(time.time()).offsets
