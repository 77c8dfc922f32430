"""What commands leave behind on this machine for later ones: names to complete, and the last request.

Nothing depends on it: it may be removed at any time, and a disk that cannot be read or written costs
the memory only.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.config.file import users_directory
from scratchflow.disk.memo import write_memo
from scratchflow.model.errors.config import ConfigBadValue

_MOST_NAMES = 2000
_MOST_JOBS = 100
_MOST_BYTES = 1 << 20
# Completion hands names to the shell, and zsh evaluates what it gets: nothing else is remembered.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}", re.ASCII)


class Remembered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one profile."""

    slurm: dict[str, Any] | None = None
    """The `[slurm]` table that the last allocation asked for."""
    nodes: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()
    """Their ids, newest last."""
    jobs: tuple[str, ...] = ()
    """Slurm's numbers of the last submitted jobs, newest last."""


def recall(profile: str) -> Remembered:
    """What is known; nothing when nothing can be read."""
    try:
        with _file(profile).open("rb") as file:
            found = msgspec.json.decode(file.read(_MOST_BYTES), type=Remembered)
    except (OSError, ConfigBadValue, UnicodeError, RecursionError, msgspec.DecodeError):
        return Remembered()
    return _plain(found)


def remember(profile: str, **changes: Any) -> None:
    """Keeps these values beside what is known already."""
    before = recall(profile)
    after = _plain(msgspec.structs.replace(before, **changes))
    if after == before:
        return
    with contextlib.suppress(OSError, ConfigBadValue):
        write_memo(str(_file(profile)), msgspec.json.encode(after))


def forget(profile: str) -> None:
    """Nothing is known of it any more."""
    with contextlib.suppress(OSError, ConfigBadValue):
        _file(profile).unlink(missing_ok=True)


def _plain(found: Remembered) -> Remembered:
    return msgspec.structs.replace(
        found,
        nodes=_names(found.nodes),
        partitions=_names(found.partitions),
        snapshots=_names(found.snapshots),
        jobs=_names(found.jobs)[-_MOST_JOBS:],
    )


def _names(names: Iterable[str]) -> tuple[str, ...]:
    known = dict.fromkeys(name for name in names if _PLAIN_NAME.fullmatch(name))
    return tuple(known)[-_MOST_NAMES:]


def _file(profile: str) -> Path:
    return users_directory("state") / "profiles" / f"{profile}.json"
