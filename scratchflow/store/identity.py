"""The store's own id, in `store.json`: two hosts see the same store only if they read the same id.

A path proves nothing. A directory of that name may exist on every host for itself, and the empty
directory below a lost mount may be writable.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX, fsync_directory, publish_new, write_new
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.store.directory import FILE_MODE, MANIFEST_SUFFIX, STORE_NAME, StoreDirectory
from scratchflow.store.failures import store_errors

_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_LIMIT_BYTES = 65536


class StoreNote(msgspec.Struct, frozen=True):
    """The content of `store.json`; unknown keys are passed over."""

    id: str


def read_store_id(place: StoreDirectory) -> str | None:
    """The store's id as this host sees it; None when there is no such store, or none with an id yet."""
    file = place.directory / STORE_NAME
    with store_errors(file):
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            content = os.read(descriptor, _LIMIT_BYTES)
        finally:
            os.close(descriptor)
    return _decoded(place, content)


def ensure_store_id(place: StoreDirectory) -> str:
    """The store's id, made if there is none. Of many who make it at once, all get the same.

    Where there are no hard links, two that make it in the same instant may get two; the later one
    stays, and whoever compares the earlier one is refused once.
    """
    found = read_store_id(place)
    if found is not None:
        return found
    fresh = os.urandom(16).hex()
    temp = place.directory / f"{TEMP_PREFIX}{fresh}-{STORE_NAME}"
    with store_errors(place.directory / STORE_NAME):
        try:
            write_new(temp, msgspec.json.encode(StoreNote(fresh)) + b"\n", mode=FILE_MODE)
            with suppress(FileExistsError):  # another one was first: its id is read below
                publish_new(temp, place.directory / STORE_NAME)
        finally:
            temp.unlink(missing_ok=True)
        fsync_directory(place.directory)
    return read_store_id(place) or fresh


def has_snapshots(place: StoreDirectory) -> bool:
    """Whether any manifest lies there, readable or not."""
    with store_errors(place.directory):
        try:
            names = os.listdir(place.directory)
        except FileNotFoundError:
            return False
    return any(
        name.endswith(MANIFEST_SUFFIX) and is_snapshot_id(name.removesuffix(MANIFEST_SUFFIX))
        for name in names
    )


def id_in(content: bytes) -> str | None:
    """The id in the bytes of a `store.json`; None when they hold none."""
    try:
        note = msgspec.json.decode(content, type=StoreNote)
    except msgspec.DecodeError:
        return None
    return note.id if _ID.fullmatch(note.id) else None


def _decoded(place: StoreDirectory, content: bytes) -> str:
    found = id_in(content)
    if found is None:
        file = place.directory / STORE_NAME
        raise StoreUnusable(
            path=file,
            reason="it does not hold a store's id",
            remedy=f"if this is your store, remove `{file}`: the next backup makes a new one",
        )
    return found
