"""Who reads which archives: `<place>/readers/<token>.json`, one file for each restore under way.

`prune` and `sweep` leave alone what a reader needs. A reader writes its file first and then looks whether the
manifest is still there; `prune` removes manifests first and then looks for readers. So either the reader
finds no manifest, or `prune` finds the reader. A file whose process is known to be dead, or
that is older than two days, keeps nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import is_there, replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.errors.snapshots import SnapshotMissing
from scratchflow.store.directory import (
    FILE_MODE,
    READERS_NAME,
    StoreDirectory,
    make_private_directory,
)
from scratchflow.store.failures import store_errors
from scratchflow.store.lock.owner import Owner, is_proven_dead, this_process

_SUFFIX = ".json"
_LIMIT_BYTES = 1 << 20
# Longer than any restore takes, so that nobody has to keep the file fresh.
_STALE_AFTER_S = 2 * 86400


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """A restore under way: the snapshot, the archives that it lies in, and the process that reads."""

    snapshot: str
    archives: list[str]
    owner: Owner


@contextmanager
def reading(
    place: StoreDirectory, snapshot: str, archives: Sequence[str], *, token: str
) -> Iterator[None]:
    """Holds a snapshot and its archives against `prune`; SnapshotMissing if it was faster.

    In a store that cannot be written to, because it is full or read-only, nothing is held.
    """
    file = place.directory / READERS_NAME / f"{token}{_SUFFIX}"
    try:
        _write(file, Reader(snapshot=snapshot, archives=list(archives), owner=_owner(token)))
        with store_errors(place.directory):
            if not is_there(place.manifest(snapshot)):
                next_step = (
                    "it was pruned just now; `scratchflow snapshots list` shows what is there"
                )
                raise SnapshotMissing(wanted=snapshot, next_step=next_step)
        yield
    finally:
        with suppress(OSError):
            file.unlink()


def held_snapshots(place: StoreDirectory, now: float | None = None) -> set[str]:
    """The snapshots that are being read."""
    return {reader.snapshot for reader in _readers(place, now)}


def held_archives(place: StoreDirectory, now: float | None = None) -> set[str]:
    """The archives that are being read."""
    return {archive for reader in _readers(place, now) for archive in reader.archives}


def _write(file: Path, reader: Reader) -> None:
    with suppress(OSError):
        make_private_directory(file.parent)
        replace_file(file, msgspec.json.encode(reader) + b"\n", mode=FILE_MODE)


def _owner(token: str) -> Owner:
    process = this_process()
    return Owner(
        token=token,
        host=process.host,
        boot_id=process.boot_id,
        pid_namespace=process.pid_namespace,
        pid=process.pid,
        start_ticks=process.start_ticks,
        job_id=None,
        since=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        doing="scratchflow restore",
    )


def old_readers(place: StoreDirectory, now: float) -> list[Path]:
    """The files that keep nothing any more because of their age."""
    return [file for file in _files(place) if now - _written(file, now) > _STALE_AFTER_S]


def _written(file: Path, now: float) -> float:
    try:
        return os.lstat(file).st_mtime
    except FileNotFoundError:  # its restore has just ended
        return now


def _files(place: StoreDirectory) -> list[Path]:
    directory = place.directory / READERS_NAME
    with store_errors(directory):
        try:
            names = sorted(os.listdir(directory))
        except FileNotFoundError:
            return []
    return [directory / name for name in names if name.endswith(_SUFFIX)]


def _readers(place: StoreDirectory, now: float | None) -> list[Reader]:
    at = time.time() if now is None else now
    return [reader for file in _files(place) if (reader := _alive(file, at)) is not None]


def _alive(file: Path, now: float) -> Reader | None:
    try:
        with open(file, "rb", opener=_open) as opened:
            age_s = abs(now - os.fstat(opened.fileno()).st_mtime)
            reader = decoded(opened.read(_LIMIT_BYTES), Reader)
    except (OSError, msgspec.DecodeError):
        return None
    is_over = age_s > _STALE_AFTER_S or is_proven_dead(reader.owner, this_process())
    return None if is_over else reader


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
