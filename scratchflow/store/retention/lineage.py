"""Which snapshot came from which, also across snapshots that were removed: `lineage.json`.

A manifest names its parent. When the parent is removed, nothing would say what the parent came from,
and an older snapshot would look like the tip of a fork. So `prune` notes the nearest ancestor that
stays, and the parents of those that go, before it removes anything. What comes from another store
without its parent is noted in the same way. Without the note a snapshot stays longer than it has to, and no more.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.snapshot import Manifest
from scratchflow.store.directory import FILE_MODE, LINEAGE_NAME, StoreDirectory

_LIMIT_BYTES = 64 * 1024 * 1024
# Of so many removed snapshots the parents stay noted: for stores that still have some between.
_REMOVED = 2000

Lineage = Mapping[str, str]  # the nearest ancestor in the store, by id


def read_noted(place: StoreDirectory) -> dict[str, str]:
    """What earlier removals noted; nothing when that cannot be read."""
    with suppress(OSError, msgspec.DecodeError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(place.directory / LINEAGE_NAME, flags)
        with open(descriptor, "rb") as file:
            return decoded(file.read(_LIMIT_BYTES), dict[str, str])
    return {}


def write_noted(place: StoreDirectory, noted: Mapping[str, str]) -> None:
    """Replaces the notes. A store without room for them loses nothing but the notes."""
    if read_noted(place) == noted:
        return
    content = msgspec.json.encode(noted) + b"\n"
    with suppress(OSError):
        replace_file(place.directory / LINEAGE_NAME, content, mode=FILE_MODE)


def lineage_of(snapshots: Sequence[Manifest], noted: Mapping[str, str]) -> dict[str, str]:
    """The nearest listed ancestor of each snapshot, for those that have one."""
    listed = {one.id for one in snapshots}
    found: dict[str, str] = {}
    for one in snapshots:
        ancestor = next((each for each in _before(one, noted) if each in listed), None)
        if ancestor is not None and ancestor != one.id:
            found[one.id] = ancestor
    return found


def _before(one: Manifest, noted: Mapping[str, str]) -> Iterator[str]:
    """What a snapshot came from, nearest first: its parent, what a removal noted of it, and what one noted of its parent.

    The last is for a snapshot that was taken when its parent was removed already.
    """
    if one.parent is not None:
        yield one.parent
    if one.id in noted:
        yield noted[one.id]
    if one.parent is not None:
        yield from line_of(one.parent, noted)


def line_of(snapshot: str, lineage: Lineage) -> Iterator[str]:
    """The snapshot and all that it came from, newest first."""
    seen: set[str] = set()
    at: str | None = snapshot
    while at is not None and at not in seen:
        seen.add(at)
        yield at
        at = lineage.get(at)


def without(
    snapshots: Sequence[Manifest], lineage: Lineage, removed: Collection[str]
) -> dict[str, str]:
    """What to note before these are removed."""
    noted: dict[str, str] = {}
    for one in snapshots:
        ancestors = (each for each in line_of(one.id, lineage) if each != one.id)
        staying = next((each for each in ancestors if each not in removed), None)
        if one.id not in removed and staying is not None and staying != one.parent:
            noted[one.id] = staying
    return noted


def parents_of_removed(
    snapshots: Sequence[Manifest], noted: Mapping[str, str], removed: Collection[str]
) -> dict[str, str]:
    """What to note of those that go, with what is noted of those that went: the parent of each."""
    listed = {one.id for one in snapshots}
    known = {one: parent for one, parent in noted.items() if one not in listed}
    known |= {one.id: one.parent for one in snapshots if one.id in removed and one.parent}
    return {one: known[one] for one in sorted(known)[-_REMOVED:]}


def parents_known(snapshots: Sequence[Manifest], noted: Mapping[str, str]) -> dict[str, str]:
    """The parents of all snapshots that a store has or had, as far as it knows them; where it does not, a farther ancestor."""
    listed = {one.id: one.parent for one in snapshots}
    near = {
        one: parent
        for one, parent in listed.items()
        if parent and (parent in listed or parent in noted or one not in noted)
    }
    return {**noted, **near}


def joined(
    snapshots: Sequence[Manifest], noted: Mapping[str, str], elsewhere: Mapping[str, str]
) -> dict[str, str]:
    """The notes, with what another store knows: which listed snapshot one continues whose parent is not listed here."""
    listed = {one.id for one in snapshots}
    known = {one: parent for one, parent in noted.items() if one not in listed} | dict(elsewhere)
    found = dict(noted)
    for one in snapshots:
        if one.parent is None or one.parent in listed:
            continue
        line = line_of(known.get(one.id, one.parent), known)
        nearest = next((each for each in line if each in listed), "")
        # An ancestor has a smaller id, and of two the greater is the nearer.
        if found.get(one.id, "") < nearest < one.id:
            found[one.id] = nearest
    return found


def tips(snapshots: Sequence[Manifest], lineage: Lineage) -> set[str]:
    """The snapshots that no other one continues. A fork taken beside the newest does not continue what it came from."""
    beside = {one.id for one in snapshots if one.beside}
    continued = {old for new, old in lineage.items() if new not in beside or old in beside}
    return {one.id for one in snapshots} - continued


def newest_full(snapshot: str, lineage: Lineage, fulls: Collection[str]) -> str | None:
    """The newest full one of a snapshot and what it came from."""
    return next((one for one in line_of(snapshot, lineage) if one in fulls), None)
