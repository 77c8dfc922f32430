"""What is known of the store's mirror: `<place>/mirror/state.json`, and the lock of whoever writes to it.

The mirror itself is asked only by those who write to it or read from it. `status` reads this file.
"""

from __future__ import annotations

import os

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.snapshot import Manifest, is_snapshot_id
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.directory import (
    FILE_MODE,
    MANIFEST_SUFFIX,
    MIRROR_NAME,
    StoreDirectory,
    make_private_directory,
)
from scratchflow.store.failures import store_errors
from scratchflow.store.identity import read_store_id

_STATE_NAME = "state.json"
_LIMIT_BYTES = 16 << 20


class MirrorState(msgspec.Struct, frozen=True, kw_only=True):
    """What the last run found and did; unknown keys are passed over."""

    mirror: str
    # When the mirror was last looked at, or that was tried.
    time: str = ""
    # Snapshots of this store that are on the mirror, whole.
    there: list[str] = []
    # Archives that arrived there, and may not be named by a manifest there yet.
    sent: list[str] = []
    # Why the last run failed, and since when they do; empty when it did not.
    error: str = ""
    failing_since: str = ""


def mirror_place(place: StoreDirectory) -> StoreDirectory:
    """The directory for state and lock, made if it is missing; never in what is left of a store that somebody removes."""
    require_store_id(place)
    directory = place.directory / MIRROR_NAME
    with store_errors(directory):
        make_private_directory(directory)
    return StoreDirectory(directory)


def require_store_id(place: StoreDirectory) -> str:
    """The store's id, which whoever takes snapshots has made. Whoever sends them makes no store, and no id."""
    found = read_store_id(place)
    if found is None:
        raise StoreUnusable(
            path=place.directory,
            reason="there is no store, or it has no id",
            remedy="`scratchflow snapshots import --from-mirror --all` brings a store that is gone back from its mirror;"
            " `scratchflow backup` gives one that is there its id",
        )
    return found


def read_state(place: StoreDirectory, mirror: str) -> MirrorState:
    """What is known of this mirror. Of another one, or of none yet, that is nothing."""
    try:
        descriptor = os.open(
            place.directory / MIRROR_NAME / _STATE_NAME,
            os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK,
        )
        with open(descriptor, "rb") as file:
            state = decoded(file.read(_LIMIT_BYTES), MirrorState)
    except (OSError, msgspec.DecodeError):
        return MirrorState(mirror=mirror)
    return state if state.mirror == mirror else MirrorState(mirror=mirror)


def write_state(place: StoreDirectory, state: MirrorState) -> None:
    """Replaces what was known."""
    file = mirror_place(place).directory / _STATE_NAME
    with store_errors(file):
        replace_file(file, msgspec.json.encode(state) + b"\n", mode=FILE_MODE)


def has_unsent(place: StoreDirectory, state: MirrorState) -> bool:
    """Whether a snapshot is listed that is not known to be on the mirror. Reads names only, and is quick."""
    with store_errors(place.directory):
        names = os.listdir(place.directory)
    stems = {name.removesuffix(MANIFEST_SUFFIX) for name in names if name.endswith(MANIFEST_SUFFIX)}
    return any(is_snapshot_id(one) for one in stems.difference(state.there))


def not_there(state: MirrorState, catalogue: Catalogue) -> list[Manifest]:
    """The snapshots that are not on the mirror as far as is known, oldest first."""
    there = set(state.there)
    return [
        one
        for one in catalogue.snapshots
        if one.id not in there and one.id not in catalogue.damaged
    ]
