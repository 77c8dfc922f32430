"""Which snapshot came from which, also across snapshots that were removed: `lineage.json`.

A manifest names its parent. When the parent is removed, nothing would say what the parent came from,
and an older snapshot would look like the tip of a fork. So `prune` notes the nearest ancestor that
stays, before it removes anything. Without the note a snapshot stays longer than it has to, and no more.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.snapshot import Manifest
from scratchflow.store.directory import FILE_MODE, LINEAGE_NAME, StoreDirectory

_LIMIT_BYTES = 64 * 1024 * 1024

Lineage = Mapping[str, str]  # the nearest ancestor in the store, by id


def read_noted(place: StoreDirectory) -> dict[str, str]:
    """What earlier removals noted; nothing when that cannot be read."""
    with suppress(OSError, msgspec.DecodeError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(place.directory / LINEAGE_NAME, flags)
        with open(descriptor, "rb") as file:
            return msgspec.json.decode(file.read(_LIMIT_BYTES), type=dict[str, str])
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
        ancestor = one.parent if one.parent in listed else noted.get(one.id)
        if ancestor is not None and ancestor in listed and ancestor != one.id:
            found[one.id] = ancestor
    return found


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


def tips(snapshots: Sequence[Manifest], lineage: Lineage) -> set[str]:
    """The snapshots that no other one continues. A fork taken beside the newest does not continue what it came from."""
    beside = {one.id for one in snapshots if one.beside}
    continued = {old for new, old in lineage.items() if new not in beside or old in beside}
    return {one.id for one in snapshots} - continued


def newest_full(snapshot: str, lineage: Lineage, fulls: Collection[str]) -> str | None:
    """The newest full one of a snapshot and what it came from."""
    return next((one for one in line_of(snapshot, lineage) if one in fulls), None)
