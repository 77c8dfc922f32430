"""On which login host a profile's tmux session lives, noted in the home that all of them share.

Login hosts often come as a pool behind one name: whoever comes back may land on another one.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file

_DIRECTORY = ".local/share/scratchflow/tmux"


class SessionNote(msgspec.Struct, frozen=True, kw_only=True):
    """The host, and the session's name there."""

    host: str
    session: str


def note_session(home: Path, profile: str, note: SessionNote) -> None:
    """Notes where the session is now."""
    file = note_path(home, profile)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(file, msgspec.json.encode(note) + b"\n")


def read_session_note(home: Path, profile: str) -> SessionNote | None:
    """Where the session was put last; None when nobody knows."""
    try:
        return msgspec.json.decode(note_path(home, profile).read_bytes(), type=SessionNote)
    except (OSError, msgspec.DecodeError):
        return None


def forget_session(home: Path, profile: str) -> None:
    """There is no session any more."""
    note_path(home, profile).unlink(missing_ok=True)


def note_path(home: Path, profile: str) -> Path:
    """Where it is noted."""
    return home / _DIRECTORY / f"{profile}.json"
