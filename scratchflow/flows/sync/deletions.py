"""How many files a sync would delete on each side, and whether that is to be asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from scratchflow.cluster.unison.words import Change, Direction
from scratchflow.model.requests import SyncCount
from scratchflow.model.results.sync import FilesCounted

MANY = 1000
_TENTH = 10
# A request is one line of at most a megabyte.
_REQUEST_BYTES = 1 << 18

Count = Callable[[SyncCount], FilesCounted]
"""Asks the login host of the side that would lose files."""


def files_going(
    changes: Iterable[Change], towards: Direction, folders: Sequence[str], count: Count
) -> FilesCounted | None:
    """What the side that the changes go to would lose; None when nothing."""
    concerned = [change for change in changes if change.direction == towards]
    deleted = [change.path for change in concerned if change.deletes]
    replaced = [change.path for change in concerned if change.replaces]
    going = 0
    for part in in_parts(deleted):
        going += count(SyncCount(deleted=tuple(part))).going
    for part in in_parts(replaced):
        going += count(SyncCount(replaced=tuple(part))).going
    if not going:
        return None
    return FilesCounted(going=going, total=count(SyncCount(folders=tuple(folders))).total)


def is_many(found: FilesCounted) -> bool:
    """A thousand files, or more than a tenth of all."""
    return found.going >= MANY or found.going * _TENTH > found.total


def in_parts(paths: Sequence[bytes]) -> Iterator[list[bytes]]:
    """As many at a time as one request holds."""
    part: list[bytes] = []
    size = 0
    for path in paths:
        if part and size + len(path) > _REQUEST_BYTES:
            yield part
            part, size = [], 0
        part.append(path)
        size += len(path) + 8
    if part:
        yield part
