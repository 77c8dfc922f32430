"""One pair of homes: unison makes them equal, and what was written meanwhile is read once more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from scratchflow.cluster.unison.command import is_in, outermost
from scratchflow.flows.sync.conversation import FAILED, Pair, Person, Ran, run_unison
from scratchflow.flows.sync.just_written import SAME_SECOND_S, JustWritten, just_written
from scratchflow.model.events import Emit, Event, Warned
from scratchflow.model.results.sync import PathProblem, SyncedPair
from scratchflow.model.text import printable
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock

RESTLESS = "it is written to all the time; the next sync reads it in full"
# How often what is being written is read again. What is written still later is found by the next sync.
_TIMES_AGAIN = 2


def sync_pair(pair: Pair, person: Person, emit: Emit, clock: Clock = SYSTEM_CLOCK) -> SyncedPair:
    """Lets unison make the two homes equal, and says what came of it.

    What was written while it looked, or just before, is read once more when its time can tell a change.
    """
    emit = each_once(emit)
    since_s = clock.monotonic()
    done, ran = run_unison(pair, person, emit)
    if pair.dry_run:
        return done
    is_noted = bool(pair.noted)
    # What is noted may be of other folders than those of today, and of other paths than this sync is about.
    noted = [path for path in pair.noted if is_in(path, pair.rules.folders)]
    limits = pair.rules.paths or pair.rules.folders
    later = [path for path in noted if not is_in(path, limits)]
    wanted = _together(path for path in (*noted, *ran.unseen) if is_in(path, limits))
    for _ in range(_TIMES_AGAIN):
        found = _just_written(pair, ran, clock.monotonic() - since_s)
        paths = _together([*wanted, *(found.paths if found else ())])
        if not paths:
            break
        pair.note(_together([*later, *paths]))  # whatever ends it now, the next sync looks at them
        is_noted = True
        clock.sleep(max(0.0, SAME_SECOND_S - found.age_s) if found else 0.0)
        since_s = clock.monotonic()
        rules = msgspec.structs.replace(pair.rules, read_again=paths)
        again, ran = run_unison(msgspec.structs.replace(pair, rules=rules), person, emit)
        done, wanted = _added(done, again, paths), list(ran.unseen)
    found = _just_written(pair, ran, clock.monotonic() - since_s)
    restless = _together([*wanted, *(found.paths if found else ())])
    if restless or is_noted:
        pair.note(_together([*later, *restless]))
    return _with_restless(done, restless, emit)


def each_once(emit: Emit) -> Emit:
    """Passes a warning about a path on once, however often unison looks at it."""
    warned: set[Warned] = set()

    def passed_on(event: Event) -> None:
        if isinstance(event, Warned) and (event.path or event.path_b64):
            if event in warned:
                return
            warned.add(event)
        emit(event)

    return passed_on


def _together(paths: Iterable[str]) -> list[str]:
    """Each once, and none beneath another."""
    found = list(paths)
    return outermost(found) or (["."] if found else [])


def _just_written(pair: Pair, ran: Ran, took_s: float) -> JustWritten | None:
    """Which of what it made equal was written while it did, or just before."""
    if not ran.moved:
        return None
    return just_written(ran.moved, (pair.count_first, pair.count_other), took_s + SAME_SECOND_S)


def _with_restless(done: SyncedPair, paths: Sequence[str], emit: Emit) -> SyncedPair:
    """The same, with what nobody can call equal: it was written to all the time."""
    known = {one.path for one in done.failed}
    new = [printable(path) for path in paths if printable(path) not in known]
    for path in new:
        emit(Warned(code=FAILED, message=f"not synced for sure: {RESTLESS}", path=path))
    failed = [*done.failed, *(PathProblem(path=path, reason=RESTLESS) for path in new)]
    return msgspec.structs.replace(done, failed=failed, equal=done.equal and not failed)


def _added(done: SyncedPair, again: SyncedPair, paths: Sequence[str]) -> SyncedPair:
    """The same, with what came of looking at these paths again."""
    looked = [printable(path) for path in paths]
    failed = [one for one in done.failed if not is_in(one.path, looked)]
    return msgspec.structs.replace(
        done,
        to_first=done.to_first + again.to_first,
        to_profile=done.to_profile + again.to_profile,
        deleted=done.deleted + again.deleted,
        conflicts=list(dict.fromkeys([*done.conflicts, *again.conflicts])),
        same_contents=list(dict.fromkeys([*done.same_contents, *again.same_contents])),
        conflict_details=[
            *done.conflict_details,
            *(one for one in again.conflict_details if one.path not in done.conflicts),
        ],
        skipped=[*done.skipped, *(one for one in again.skipped if one not in done.skipped)],
        failed=[*failed, *(one for one in again.failed if one not in failed)],
        full_homes=list(dict.fromkeys([*done.full_homes, *again.full_homes])),
    )
