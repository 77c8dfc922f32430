"""What the last sync from this machine left: kept for `sync --last`, which asks nobody.

Nothing depends on it: a file that cannot be read or written costs the memory only.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from scratchflow.cluster.unison.command import is_in
from scratchflow.config.file import users_directory
from scratchflow.disk.memo import write_memo
from scratchflow.model.errors.config import ConfigBadValue
from scratchflow.model.results.sync import Conflict, LastPair, PathProblem, SyncedPair
from scratchflow.model.times import iso_time

_MOST_PATHS = 1000
_MOST_BYTES = 4 << 20


class _Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One pair of homes. Times are seconds since the epoch; None for never."""

    synced_s: float | None = None
    looked_s: float | None = None
    to_first: int = 0
    to_profile: int = 0
    deleted: int = 0
    conflicts: list[Conflict] = []
    conflict_count: int = 0
    left: list[PathProblem] = []


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs of one configuration file, by the names of both profiles."""

    config: str = ""
    pairs: dict[str, _Kept] = {}


def keep_last(
    config: str,
    first: str,
    pair: SyncedPair,
    *,
    paths: Sequence[str] = (),
    dry_run: bool = False,
    now_s: float | None = None,
) -> None:
    """Keeps what came of one pair. With `paths`, only what is known of these changes, and what went over is added."""
    before = _read(config)
    key = _key(first, pair.profile)
    now_s = time.time() if now_s is None else now_s
    kept = _after(before.pairs.get(key, _Kept()), pair, paths, now_s, dry_run=dry_run)
    after = _File(config=config, pairs={**before.pairs, key: kept})
    with contextlib.suppress(OSError, ConfigBadValue):
        write_memo(str(_place()), msgspec.json.encode(after))


def last_pairs(
    config: str, first: str, others: Sequence[str], now_s: float | None = None
) -> list[LastPair]:
    """What is known of each pair, in this order."""
    known = _read(config).pairs
    now_s = time.time() if now_s is None else now_s
    return [_shown(name, known.get(_key(first, name), _Kept()), now_s) for name in others]


def _after(
    before: _Kept, pair: SyncedPair, paths: Sequence[str], now_s: float, *, dry_run: bool
) -> _Kept:
    conflicts, left = list(pair.conflict_details), [*pair.skipped, *pair.failed]
    count = len(conflicts)
    if paths:
        others = [one for one in before.conflicts if not is_in(one.path, paths)]
        count += before.conflict_count - (len(before.conflicts) - len(others))
        conflicts = [*others, *conflicts]
        left = [*(one for one in before.left if not is_in(one.path, paths)), *left]
    kept = msgspec.structs.replace(
        before,
        conflicts=conflicts[:_MOST_PATHS],
        conflict_count=count,
        left=left[:_MOST_PATHS],
        looked_s=before.looked_s if paths else now_s,
    )
    if dry_run:
        return kept
    if paths:  # what went over since the last sync of all folders counts with it
        return msgspec.structs.replace(
            kept,
            to_first=before.to_first + pair.to_first,
            to_profile=before.to_profile + pair.to_profile,
            deleted=before.deleted + pair.deleted,
        )
    return msgspec.structs.replace(
        kept,
        synced_s=now_s,
        to_first=pair.to_first,
        to_profile=pair.to_profile,
        deleted=pair.deleted,
    )


def _shown(profile: str, kept: _Kept, now_s: float) -> LastPair:
    return LastPair(
        profile=profile,
        condition=_condition(kept),
        synced_time=_text(kept.synced_s),
        synced_age_s=_age_s(kept.synced_s, now_s),
        to_first=kept.to_first,
        to_profile=kept.to_profile,
        deleted=kept.deleted,
        looked_time=_text(kept.looked_s),
        looked_age_s=_age_s(kept.looked_s, now_s),
        conflicts=kept.conflicts,
        conflict_count=kept.conflict_count,
        left=kept.left,
    )


def _condition(kept: _Kept) -> Literal["never", "clean", "conflicts", "incomplete"]:
    if kept.conflict_count:
        return "conflicts"
    if kept.left:
        return "incomplete"
    return "never" if kept.synced_s is None else "clean"


def _text(moment_s: float | None) -> str | None:
    return None if moment_s is None else iso_time(moment_s)


def _age_s(moment_s: float | None, now_s: float) -> int | None:
    return None if moment_s is None else max(0, int(now_s - moment_s))


def _read(config: str) -> _File:
    try:
        with _place().open("rb") as file:
            found = msgspec.json.decode(file.read(_MOST_BYTES), type=_File)
    except (OSError, ConfigBadValue, UnicodeError, RecursionError, msgspec.DecodeError):
        return _File()
    return found if found.config == config else _File()


def _key(first: str, other: str) -> str:
    return f"{first} {other}"  # no name holds a space


def _place() -> Path:
    return users_directory("state") / "sync.json"
