"""Marks that keep a snapshot from retention: `<store>/<workspace>/kept/<id>.json`, one file a mark.

A manifest never changes after its commit, so what is decided later lies beside it. A mark is written
before whatever relies on it, and read without a lock: a mark of a snapshot that is gone keeps nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from scratchflow.disk.durable import fsync_directory, replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.store.directory import FILE_MODE, KEPT_NAME, StoreDirectory, make_private_directory
from scratchflow.store.failures import store_errors

Why = Literal["asked", "shrink"]

_SUFFIX = ".json"
_LIMIT_BYTES = 65536


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Why a snapshot stays: `asked` by a person, or the state before a backup that `shrink`-ed."""

    snapshot: str
    why: Why
    time: str
    # Which root shrank, and how much of it was left.
    detail: str = ""


def keep(place: StoreDirectory, mark: Mark) -> None:
    """Writes the mark; one that a person asked for is not replaced by ours."""
    if not is_snapshot_id(mark.snapshot):
        raise ValueError(f"not a snapshot id: {mark.snapshot!r}")
    directory = place.directory / KEPT_NAME
    with store_errors(directory):
        known = _read(directory / f"{mark.snapshot}{_SUFFIX}", mark.snapshot)
        if known is not None and (known.why == "asked" or _says_the_same(known, mark)):
            return
        make_private_directory(directory)
        content = msgspec.json.encode(mark) + b"\n"
        replace_file(directory / f"{mark.snapshot}{_SUFFIX}", content, mode=FILE_MODE)


def _says_the_same(known: Mark, mark: Mark) -> bool:
    return (known.why, known.detail) == (mark.why, mark.detail)


def unkeep(place: StoreDirectory, snapshot: str) -> bool:
    """Removes the mark; whether there was one."""
    if not is_snapshot_id(snapshot):
        raise ValueError(f"not a snapshot id: {snapshot!r}")
    directory = place.directory / KEPT_NAME
    with store_errors(directory):
        try:
            os.unlink(directory / f"{snapshot}{_SUFFIX}")
        except FileNotFoundError:
            return False
        fsync_directory(directory)
    return True


def read_marks(place: StoreDirectory) -> dict[str, Mark]:
    """Every mark by its snapshot's id. One that cannot be read counts as asked for: it keeps."""
    directory = place.directory / KEPT_NAME
    with store_errors(directory):
        try:
            names = sorted(os.listdir(directory))
        except FileNotFoundError:
            return {}
        stems = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
        found = {
            one: _read(directory / f"{one}{_SUFFIX}", one) for one in filter(is_snapshot_id, stems)
        }
    return {one: mark for one, mark in found.items() if mark is not None}


def _read(file: Path, snapshot: str) -> Mark | None:
    """The mark in a file; None when there is no such file."""
    content = b""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:
        return Mark(snapshot=snapshot, why="asked", time="")
    try:
        with suppress(OSError):
            content = os.read(descriptor, _LIMIT_BYTES)
    finally:
        os.close(descriptor)
    try:
        mark = decoded(content, Mark)
    except msgspec.DecodeError:
        return Mark(snapshot=snapshot, why="asked", time="")
    return msgspec.structs.replace(mark, snapshot=snapshot)
