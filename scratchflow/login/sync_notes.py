"""Files that were still being written when a sync ended: noted in the first home, so that the next sync reads them again.

Whichever machine that is typed on. Unison itself takes a file for unchanged that was written again within the second.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.disk.private import make_private_directories
from scratchflow.login.host import LoginHost
from scratchflow.model.decoding import decoded
from scratchflow.model.errors.sync import SyncHomeFull
from scratchflow.model.requests import SyncNote
from scratchflow.model.results.sync import SyncNoted

_Notes = dict[str, list[str]]  # the other profile, and paths beneath the home


def notes_directory(home: Path) -> Path:
    """Where this program keeps what it knows of a home's syncs; it is never synced itself."""
    return home / ".local" / "share" / "scratchflow" / "sync"


@contextmanager
def room_in_home(profile: str) -> Iterator[None]:
    """SyncHomeFull when the home has no room for what is written there."""
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise SyncHomeFull(profile=profile, reason=os.strerror(error.errno)) from error


def read_notes(home: Path) -> _Notes:
    """What is to be read again, by the other side's profile; nothing where no note can be read."""
    try:
        return decoded(_file(home).read_bytes(), _Notes)
    except (OSError, msgspec.DecodeError):
        return {}


def note_again(login: LoginHost, request: SyncNote) -> SyncNoted:
    """Replaces what is noted for that profile."""
    home = Path(os.path.realpath(login.home))
    notes = {**read_notes(home), request.other: list(request.paths)}
    content = msgspec.json.encode({other: paths for other, paths in notes.items() if paths})
    with room_in_home(login.settings.name):
        make_private_directories(notes_directory(home))
        replace_file(_file(home), content)
    return SyncNoted(paths=len(request.paths))


def _file(home: Path) -> Path:
    return notes_directory(home) / "again.json"
