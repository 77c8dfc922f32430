"""Files that were written so shortly before unison read them that a later change of the same size could have the same time.

Unison compares sizes and times in whole seconds before it reads a file. One that is written again within that second looks
unchanged to every later sync, so such files are read once more when the second is over.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from scratchflow.cluster.unison.command import outermost
from scratchflow.flows.sync.deletions import Count, in_parts
from scratchflow.model.requests import SyncCount

SAME_SECOND_S = 2.0
"""A second, and what the clocks of a file server and its clients may differ."""
# The words of one unison.
_MOST_BYTES = 1 << 16


class JustWritten(msgspec.Struct, frozen=True):
    """The paths that are to be read again, and the age of the youngest file among them."""

    paths: Sequence[str]
    age_s: float


def just_written(
    paths: Sequence[bytes], counts: Sequence[Count], within_s: float
) -> JustWritten | None:
    """Those of the paths where a file was written within that time, on any of the sides; None when there is none."""
    found: set[bytes] = set()
    ages: list[float] = []
    for count in counts:
        for part in in_parts(paths):
            seen = count(SyncCount(written=tuple(part), within_s=within_s))
            found.update(part[number] for number in seen.just_written)
            ages += [] if seen.youngest_s is None else [seen.youngest_s]
    if not found:
        return None
    return JustWritten(in_few_words(sorted(found)), min(ages, default=0.0))


def in_few_words(paths: Sequence[bytes]) -> list[str]:
    """These paths, or directories that hold them when there are many, or when a name is not UTF-8."""
    named = outermost([_readable(path) for path in paths])
    while sum(len(path.encode()) for path in named) > _MOST_BYTES:
        above = outermost([os.path.dirname(path) or path for path in named])
        if above == named:
            break
        named = above
    return named or (["."] if paths else [])


def _readable(path: bytes) -> str:
    try:
        return path.decode()
    except UnicodeDecodeError:
        above = os.path.dirname(path)
        return _readable(above) if above else "."
