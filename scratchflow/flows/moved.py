"""Where the work of a profile went with `hop --to`, as noted on the machine where that was typed.

The cluster that was left knows nothing of the other one: without a note, `up` would go on there with what was left behind,
and nobody would notice that there are two lines of work now.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.config.file import users_directory
from scratchflow.config.settings import Settings
from scratchflow.disk.durable import replace_file
from scratchflow.disk.private import make_private_directories
from scratchflow.model.ages import age_at

CODE = "workspace.moved"


class Moved(msgspec.Struct, frozen=True):
    """The profile that has the work now, and since when."""

    to: str
    time_s: float


def note_move(profile: str, to: str) -> None:
    """Notes it, in the place of an earlier one. OSError when the disk cannot be written."""
    file = _file(profile)
    make_private_directories(file.parent)
    replace_file(file, msgspec.json.encode(Moved(to=to, time_s=time.time())) + b"\n")


def forget_move(profile: str) -> None:
    """The work is there again, or somebody goes on with what was left there."""
    with suppress(OSError):  # it stays, and is told once more: no reason to end what has been done
        _file(profile).unlink(missing_ok=True)


def read_move(settings: Settings) -> Moved | None:
    """Where it went; None when it is where it was, nobody knows, or that profile is gone from the configuration."""
    try:
        moved = msgspec.json.decode(_file(settings.name).read_bytes(), type=Moved)
    except (OSError, msgspec.DecodeError):
        return None
    return moved if moved.to in settings.profiles else None


def moved_in_words(profile: str, moved: Moved) -> tuple[str, str]:
    """What happened, and how to go on."""
    return (
        f"the work went to profile `{moved.to}` ({age_at(moved.time_s, time.time())})",
        f"`scratchflow -p {moved.to} up` goes on there, `scratchflow -p {moved.to} hop --to {profile}` brings it back",
    )


def _file(profile: str) -> Path:
    return users_directory("state") / "moved" / f"{profile}.json"
