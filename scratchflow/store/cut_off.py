"""What an auto-backup that does not reach its store says of that: a note in the home, which the login host reads.

Its heartbeat lies in the store. While the store is away on the node alone, nobody else would know until the heartbeat
counts as silent.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.disk.name_digest import name_digest
from scratchflow.model.decoding import decoded
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import Heartbeat
from scratchflow.store.nodes import is_node_name

_DIRECTORY = ".local/share/scratchflow/cut-off"


class CutOff(msgspec.Struct, frozen=True):
    """Which auto-backup could not write its heartbeat, at what time of its own clock, and why."""

    token: str
    time: str
    reason: str


def note_cut_off(home: Path, place: StoreDirectory, life: Heartbeat, reason: str) -> None:
    """Notes it; with a home that is away as well, only the heartbeat's silence tells."""
    file = _file(home, place, life.node)
    note = CutOff(token=life.token, time=life.time, reason=reason)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(file, msgspec.json.encode(note) + b"\n")


def forget_cut_off(home: Path, place: StoreDirectory, node: str) -> None:
    """The store is there again, or the auto-backup has ended."""
    with suppress(OSError):
        _file(home, place, node).unlink(missing_ok=True)


def cut_off(home: Path, place: StoreDirectory, life: Heartbeat) -> CutOff | None:
    """What the auto-backup of this heartbeat said after it; None when it reaches its store.

    Both times are of the node's clock.
    """
    if not is_node_name(life.node):
        return None
    try:
        note = decoded(_file(home, place, life.node).read_bytes(), CutOff)
    except (OSError, msgspec.DecodeError):
        return None
    return note if note.token == life.token and note.time > life.time else None


def _file(home: Path, place: StoreDirectory, node: str) -> Path:
    name = name_digest(os.fsencode(place.directory))
    return home / _DIRECTORY / f"{name}-{node}.json"
