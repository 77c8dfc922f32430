"""A snapshot as people name it: a part of its id, `latest~2`, `yesterday`, `14:30`, `@"first build"`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from scratchflow.model.ages import age_at, for_people, short_id, short_ids, taken_s, wall_time
from scratchflow.model.errors.snapshots import (
    SnapshotAmbiguous,
    SnapshotMissing,
    SnapshotUnreadable,
)
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import closest, counted, shortened
from scratchflow.model.zone import Zone
from scratchflow.store.catalogue import LATEST, Catalogue, taken_at
from scratchflow.store.directory import MANIFEST_SUFFIX

if TYPE_CHECKING:
    from scratchflow.model.moments import Moment

_BEFORE_LATEST = re.compile(r"latest(~\d{0,6})+", re.ASCII)
_NAME_MARK = "@"
_LISTED = 4
# A shorter part is too easily another word's or a slip's; the beginning of an id may be shorter.
_SHORTEST_PART = 3
_NAME_LENGTH = 30
_QUOTES = "\"'"


class Asker(msgspec.Struct, frozen=True):
    """Who names a snapshot: when, by which clock on the wall, and how to tell them what was found."""

    now_s: float = 0.0
    zone: Zone = Zone()
    tell: Callable[[str], None] = lambda _: None


def find_snapshot(catalogue: Catalogue, wanted: str, asker: Asker | None = None) -> Manifest:
    """The one snapshot that is meant; SnapshotAmbiguous or SnapshotMissing say what there is instead.

    A snapshot that cannot be read is never passed over for an older one: SnapshotUnreadable.
    """
    asker = asker or Asker()
    if wanted == LATEST and (latest := catalogue.latest):
        return latest
    if _BEFORE_LATEST.fullmatch(wanted):
        return _readable(catalogue, _before_latest(catalogue, wanted, asker))
    if wanted.startswith(_NAME_MARK):
        return _by_message(catalogue, wanted, asker)
    if wanted in _ids(catalogue):
        return _readable(catalogue, wanted)
    if (moment := _moment(catalogue, wanted, asker)) is not None:
        return _at_moment(catalogue, wanted, moment, asker)
    return _by_id(catalogue, wanted, asker)


def _by_id(catalogue: Catalogue, wanted: str, asker: Asker) -> Manifest:
    """The nearest way to name it that fits: whole, by its end, by its beginning, by any other part."""
    every = _ids(catalogue)
    ways: Sequence[Callable[[str], bool]] = (
        lambda one: one == wanted,
        lambda one: one.startswith(wanted) or short_id(one) == wanted,
        lambda one: len(wanted) >= _SHORTEST_PART and wanted.lower() in one.lower(),
    )
    for fits in ways if wanted else ():
        matches = [one for one in every if fits(one)]
        if len(matches) > 1:
            raise _ambiguous(catalogue, wanted, matches, asker)
        if matches:
            return _readable(catalogue, matches[0])
    raise _missing(catalogue, wanted, asker)


def _before_latest(catalogue: Catalogue, wanted: str, asker: Asker) -> str:
    """The snapshot that many before the newest one, forks not counted: `~~` is `~2`, as in git."""
    back = sum(int(part or 1) for part in wanted.split("~")[1:])
    every = _ids_of_work(catalogue)
    if back >= len(every):
        raise _missing(
            catalogue,
            wanted,
            asker,
            f"there {'is' if len(every) == 1 else 'are'} only {counted(len(every), 'snapshot')}; ",
        )
    return every[-1 - back]


def _by_message(catalogue: Catalogue, wanted: str, asker: Asker) -> Manifest:
    """By the message exactly, or as lists show it, with short ids; else by a part of either, whatever its case."""
    name = wanted.removeprefix(_NAME_MARK).strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in _QUOTES:
        name = name[1:-1]
    named = [one for one in catalogue.snapshots if one.message]
    part = name.casefold()
    texts = {one.id: (one.message, for_people(one.message)) for one in named}
    matches = [one for one in named if name in texts[one.id]] or [
        one for one in named if part and any(part in text.casefold() for text in texts[one.id])
    ]
    if len(matches) > 1:
        raise _ambiguous(catalogue, wanted, [one.id for one in matches], asker)
    if matches:
        return matches[0]
    shown = (shortened(texts[one.id][1], _NAME_LENGTH) for one in named[-_LISTED:])
    names = ", ".join(f'`@"{text}"`' for text in shown)
    there = f"the last names are {names}; " if names else "no snapshot has a name yet; "
    raise _missing(catalogue, wanted, asker, there)


def _moment(catalogue: Catalogue, wanted: str, asker: Asker) -> Moment | None:
    from scratchflow.model.moments import read_moment  # patterns that most names do not need

    try:
        return read_moment(wanted, asker.now_s, asker.zone)
    except ValueError as error:
        raise _missing(catalogue, wanted, asker, f"{error}; ") from None


def _at_moment(catalogue: Catalogue, wanted: str, moment: Moment, asker: Asker) -> Manifest:
    """What was the newest at that moment, of none that is a fork: the last by its time, of several by its id."""
    if moment.since_s > asker.now_s:
        raise _missing(catalogue, wanted, asker, "that is in the future; ")
    times = _times(catalogue)
    past = [one for one in _ids_of_work(catalogue) if times[one] <= moment.until_s]
    if not past:
        raise _missing(catalogue, wanted, asker, _oldest(catalogue, asker))
    last = max(past, key=lambda one: (times[one], one))
    found = _readable(catalogue, last)
    earlier = moment.is_day and times[last] < moment.since_s
    none_then = "; none was taken that day, so this is the last one before it" if earlier else ""
    asker.tell(
        f"`{wanted}` is snapshot {_described(last, found, _when(times[last], asker))}{none_then}"
    )
    return found


def _oldest(catalogue: Catalogue, asker: Asker) -> str:
    oldest, times = _ids_of_work(catalogue)[:1], _times(catalogue)
    words = [
        f"the oldest snapshot is {_described(one, None, _when(times[one], asker))}; "
        for one in oldest
    ]
    return "".join(words)


def _ids(catalogue: Catalogue) -> list[str]:
    """Every id, readable or not, oldest first; none that cannot be one of ours."""
    return sorted([*(one.id for one in catalogue.snapshots), *_unread(catalogue)])


def _ids_of_work(catalogue: Catalogue) -> list[str]:
    """The same without forks: each was the newest when it was taken."""
    return sorted([*(one.id for one in catalogue.main_line), *_unread(catalogue)])


def _unread(catalogue: Catalogue) -> list[str]:
    return [one.snapshot for one in catalogue.skipped if taken_s(one.snapshot) is not None]


def _readable(catalogue: Catalogue, snapshot: str) -> Manifest:
    for one in catalogue.snapshots:
        if one.id == snapshot:
            return one
    unread = next(one for one in catalogue.skipped if one.snapshot == snapshot)
    first = unread.way_out(f"repair `{snapshot}{MANIFEST_SUFFIX}` in the store")
    next_step = f"{first}; `scratchflow snapshots list` shows which can be read"
    raise SnapshotUnreadable(snapshot=snapshot, reason=unread.reason, next_step=next_step)


def _described(snapshot: str, manifest: Manifest | None, when: str, name: str = "") -> str:
    """`570643 (11 h ago, "first build")`."""
    message = for_people(manifest.message) if manifest is not None else ""
    quoted = f', "{shortened(message, _NAME_LENGTH)}"' if message else ""
    return f"{name or short_id(snapshot)} ({when}{quoted})"


def _times(catalogue: Catalogue) -> dict[str, float]:
    """When each was taken, by its manifest; by its id where that cannot be read."""
    unread = {one: taken_s(one) or 0 for one in _unread(catalogue)}
    return {**unread, **{one.id: taken_at(one).timestamp() for one in catalogue.snapshots}}


def _age(moment_s: float, asker: Asker) -> str:
    return age_at(moment_s, asker.now_s, asker.zone)


def _when(moment_s: float, asker: Asker) -> str:
    """`15 Nov 17:40, 11 h ago`: to compare with what was asked for."""
    moment = wall_time(moment_s, asker.now_s, asker.zone)
    return ", ".join(dict.fromkeys([moment, _age(moment_s, asker)]))


def _listed(catalogue: Catalogue, snapshots: Sequence[str], asker: Asker) -> str:
    """The newest of these, in one line, newest first."""
    known = {one.id: one for one in catalogue.snapshots}
    names, times = short_ids(_ids(catalogue)), _times(catalogue)
    shown = [
        _described(one, known.get(one), _age(times[one], asker), names[one])
        for one in snapshots[: -_LISTED - 1 : -1]
    ]
    more = f" and {len(snapshots) - _LISTED} older" if len(snapshots) > _LISTED else ""
    return f"{', '.join(shown)}{more}"


def _ambiguous(
    catalogue: Catalogue, wanted: str, matches: Sequence[str], asker: Asker
) -> SnapshotAmbiguous:
    return SnapshotAmbiguous(
        wanted=wanted, count=len(matches), matches=_listed(catalogue, matches, asker)
    )


def _missing(catalogue: Catalogue, wanted: str, asker: Asker, reason: str = "") -> SnapshotMissing:
    """Says what is there. No id is guessed: those of one day differ in a few digits only."""
    every = _ids(catalogue)
    if not every:
        next_step = "there is no snapshot yet; `scratchflow backup` takes one"
        return SnapshotMissing(wanted=wanted, next_step=next_step)
    from scratchflow.model.moments import EXAMPLES

    guess = None if reason else _meant(catalogue, wanted)
    meant = f"did you mean `{guess}`? " if guess else ""
    newest = "" if reason else f"the newest: {_listed(catalogue, every, asker)}; "
    ways = "" if reason or guess else f"a time is written like {EXAMPLES}; "
    next_step = f"{reason}{meant}{newest}{ways}`scratchflow snapshots list` shows them all"
    return SnapshotMissing(wanted=wanted, next_step=next_step)


def _meant(catalogue: Catalogue, wanted: str) -> str | None:
    """A message that was typed without its mark, or a word that is nearly the one that was typed."""
    name = wanted.strip().casefold()
    if name and any(name == for_people(one.message).casefold() for one in catalogue.snapshots):
        return (
            f"{_NAME_MARK}{wanted.strip()}"
            if wanted.strip().isalnum()
            else f'{_NAME_MARK}"{wanted.strip()}"'
        )
    return closest(wanted, [LATEST, "yesterday", "today"])
