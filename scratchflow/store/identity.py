"""The store's own id, in `store.json`: two hosts see the same store only if they read the same id.

A path proves nothing. A directory of that name may exist on every host for itself, and the empty
directory below a lost mount may be writable.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX, fsync_directory, publish_new, write_new
from scratchflow.model.decoding import decoded
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.store.directory import FILE_MODE, MANIFEST_SUFFIX, STORE_NAME, StoreDirectory
from scratchflow.store.failures import store_errors

_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
ID_LIMIT_BYTES = 65536
"""A `store.json` that is larger is none of ours."""


class StoreNote(msgspec.Struct, frozen=True):
    """The content of `store.json`; unknown keys are passed over."""

    id: str


def read_store_id(place: StoreDirectory) -> str | None:
    """The store's id as this host sees it; None when there is no such store, or none with an id yet.

    StoreUnusable when something else is in its place: a new id is never made instead.
    """
    file = place.directory / STORE_NAME
    with store_errors(file):
        content = _content(file)
    found = id_in(content) if content is not None else None
    if content is not None and found is None:
        raise _without_id(file)
    return found


def _content(file: Path) -> bytes | None:
    """What is in the file; None when there is none. A directory or a link holds nothing of ours."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return b""
        raise
    try:
        return os.read(descriptor, ID_LIMIT_BYTES)
    except IsADirectoryError:
        return b""
    finally:
        os.close(descriptor)


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
    return count_snapshots(place) > 0


def count_snapshots(place: StoreDirectory) -> int:
    """How many manifests lie there, readable or not."""
    with store_errors(place.directory):
        try:
            names = os.listdir(place.directory)
        except FileNotFoundError:
            return 0
    return sum(
        name.endswith(MANIFEST_SUFFIX) and is_snapshot_id(name.removesuffix(MANIFEST_SUFFIX))
        for name in names
    )


def id_in(content: bytes) -> str | None:
    """The id in the bytes of a `store.json`; None when they hold none."""
    try:
        note = decoded(content, StoreNote)
    except msgspec.DecodeError:
        return None
    return note.id if _ID.fullmatch(note.id) else None


def _without_id(file: Path) -> StoreUnusable:
    import shlex  # only ever needed on the way to an error

    aside = f"mv {shlex.quote(str(file))} {shlex.quote(f'{file}.damaged')}"
    return StoreUnusable(
        path=file,
        reason="it does not hold a store's id",
        remedy="the snapshots beside it are as they were; put it back as it was, if you have a copy (a mirror has one). If not,"
        f" `{aside}` on `{os.uname().nodename}` moves it away: the next backup then gives the store a new id, and a mirror of it needs another path",
    )
