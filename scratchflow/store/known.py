"""Which store this account used at a path, noted in its home: an empty mount point is not taken for a new store.

The node's own notes protect a workspace that is there. This note protects the case in which none is: a new job on a
node with an empty scratch, while the shared file system is not mounted.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file, write_new
from scratchflow.disk.name_digest import name_digest
from scratchflow.model.decoding import decoded
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.store import StoreLost
from scratchflow.model.text import printable
from scratchflow.store.directory import FILE_MODE, STORE_NAME, StoreDirectory
from scratchflow.store.identity import has_snapshots, read_store_id

_DIRECTORY = ".local/share/scratchflow/stores"


class KnownStore(msgspec.Struct, frozen=True):
    """The content of a note; unknown keys are ignored."""

    path: str
    id: str


def note_store(home: Path, place: StoreDirectory, store_id: str) -> None:
    """Notes the store's id, if it is new. A home that cannot be written to loses only the note."""
    note = KnownStore(printable(place.directory), store_id)
    file = _file(home, place)
    if _read(file) == note:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(file, msgspec.json.encode(note) + b"\n", mode=0o600)
    except OSError:
        return  # the check that the note serves is an addition to the node's own


def take_back_new(home: Path, place: StoreDirectory) -> None:
    """Removes a store that was just made and has nothing but its id, and the note of it. One that anything was put in stays.

    A command that reads the id in the same instant is refused once.
    """
    file = place.directory / STORE_NAME
    if os.listdir(place.directory) != [STORE_NAME]:
        return
    content = file.read_bytes()
    _file(home, place).unlink(missing_ok=True)
    file.unlink()
    try:
        place.directory.rmdir()
    except OSError:  # somebody has begun to use it
        write_new(file, content, mode=FILE_MODE)


def store_lost(
    home: Path, place: StoreDirectory, host: str, *, mirror: str = ""
) -> StoreLost | None:
    """The error for a path that held a store before, and holds none now; with a mirror the hint names it."""
    file = _file(home, place)
    if _read(file) is None or read_store_id(place) is not None or has_snapshots(place):
        return None
    import shlex  # only ever needed on the way to an error

    note, back = shlex.quote(str(file)), ""
    if mirror:
        bring = "`scratchflow snapshots import --from-mirror --all`"
        back = f", and {bring} then brings its snapshots back from `{mirror}`"
    state = "is empty" if os.path.lexists(place.directory) else "is not there"
    return StoreLost(store=place.directory, state=state, host=host, note=note, from_mirror=back)


def snapshots_elsewhere(home: Path, place: StoreDirectory) -> list[str]:
    """Other places where this account has snapshots of a workspace of the same name, as far as they can be seen now."""
    found = []
    try:
        files = sorted((home / _DIRECTORY).iterdir())
    except OSError:
        return []
    for file in files:
        note = _read(file)
        if note is None or note.path == printable(place.directory):
            continue
        other = Path(note.path)
        with suppress(ScratchflowError):
            if other.name == place.directory.name and has_snapshots(StoreDirectory(other)):
                found.append(note.path)
    return found


def _read(file: Path) -> KnownStore | None:
    try:
        return decoded(file.read_bytes(), KnownStore)
    except (OSError, msgspec.DecodeError):
        return None


def _file(home: Path, place: StoreDirectory) -> Path:
    name = name_digest(os.fsencode(place.directory))
    return home / _DIRECTORY / f"{name}.json"
