"""Which snapshots stay and which go: pure rules over manifests. Nothing is deleted here.

Invariants, each with a test:
- the newest snapshot stays, and the three newest verified ones;
- nothing goes unless a newer snapshot is verified and whole: a run of bad backups deletes nothing;
- a damaged or unverified snapshot never takes the place of a good one: the rules are applied to
  all snapshots and once more to the good ones alone, and what either keeps stays. Damage that a
  verification found counts, also in an archive that the snapshot only reads from;
- an archive goes only if no manifest that stays needs it. A snapshot that goes may leave its
  archive behind: it is no longer listed, and the archive lives until the last snapshot that
  needs it goes. So an archive without a manifest is garbage only if no manifest needs it;
- while any manifest cannot be read, nothing goes: what it needs is unknown;
- what a person named or marked, what the record of a job needs, what scratchflow saved before it replaced
  something, and the tip of a fork stay as long as the settings say, and take no place from the others;
- a fork that was taken beside the newest one takes no place from a backup, however many nodes take them;
- of every line of history that stays, its newest full snapshot stays: `lz4` and `tar` alone read it.

Ages are measured at the newest snapshot but one, or by the clock if that is earlier. So one backup
taken while the clock was wrong, or the first one after a long absence, ages nothing away.
Snapshots are ordered by their ids. Their hours, days and weeks are those of their manifests: after a
backup with the clock ahead all ids are close together, in the future.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from itertools import takewhile
from typing import Protocol

import msgspec

from scratchflow.model.results.snapshots import NOT_ASKED_FOR
from scratchflow.model.snapshot import Manifest
from scratchflow.model.units import Span
from scratchflow.store.catalogue import Catalogue, begun_at, needed_archives, taken_at
from scratchflow.store.retention.lineage import (
    Lineage,
    line_of,
    lineage_of,
    newest_full,
    parents_of_removed,
    tips,
    without,
)
from scratchflow.store.retention.marks import Mark

KEPT_VERIFIED = 3
# Taken by scratchflow on the way: these never take the place of a backup.
PASSING = frozenset({"safety", "restored"})
# Why a snapshot stays that the plain rules would let go.
SPECIAL = ("kept", "before a backup that shrank", "job", "named", "safety", "fork", "full")
# Of these, what holds a state that a person wants or that no other snapshot continues.
_WANTED = frozenset(SPECIAL) - {"full"}
_MARKED = {"asked": "kept", "shrink": "before a backup that shrank"}


class KeepRules(Protocol):
    """The `keep_*` settings of a profile's `[backup]`."""

    @property
    def keep_last(self) -> int: ...
    @property
    def keep_hourly(self) -> int: ...
    @property
    def keep_daily(self) -> int: ...
    @property
    def keep_weekly(self) -> int: ...
    @property
    def keep_named(self) -> Span: ...
    @property
    def keep_unmerged(self) -> Span: ...
    @property
    def keep_jobs(self) -> Span: ...


class Decided(msgspec.Struct, frozen=True):
    """What is known beside the manifests: marks, damage, jobs, and what removed snapshots came from."""

    marks: Mapping[str, Mark] = {}
    # Snapshots that a verification found to be damaged.
    damaged: Collection[str] = ()
    noted: Mapping[str, str] = {}
    # Snapshots that records of jobs need, each with the last such job and when it was submitted.
    jobs: Mapping[str, tuple[str, datetime]] = {}
    now: datetime = datetime.max.replace(tzinfo=timezone.utc)


class Retention(msgspec.Struct, frozen=True):
    """What stays, with every reason for it, and what goes."""

    kept: dict[str, tuple[str, ...]]
    removed: tuple[str, ...]
    # Archives that nothing needs once the removed manifests are gone.
    unneeded_archives: tuple[str, ...]
    # What to note: of those that stay their nearest ancestors that stay too, of those that go their parents.
    lineage: dict[str, str] = {}
    # Why nothing may be removed at all, if so.
    blocked: str | None = None
    # What is wrong with archives that others need yet, and whose own snapshots go.
    damaged_archives: dict[str, str] = {}


def plan_retention(
    catalogue: Catalogue,
    rules: KeepRules,
    decided: Decided = Decided(),  # noqa: B008 - frozen
) -> Retention:
    """What `prune` will do with the place as it is in the catalogue."""
    if blocked := _blocked(catalogue):
        return blocked
    lineage = lineage_of(catalogue.snapshots, decided.noted)
    reasons = keep(catalogue.snapshots, rules, decided, damaged=catalogue.damaged)
    return _plan(catalogue, lineage, reasons, decided.noted)


def plan_removal(
    catalogue: Catalogue, unwanted: Collection[str], noted: Mapping[str, str]
) -> Retention:
    """What removing these snapshots will do, whatever the rules say."""
    if blocked := _blocked(catalogue):
        return blocked
    staying = (one.id for one in catalogue.snapshots if one.id not in unwanted)
    kept: dict[str, tuple[str, ...]] = dict.fromkeys(staying, (NOT_ASKED_FOR,))
    return _plan(catalogue, lineage_of(catalogue.snapshots, noted), kept, noted)


def _blocked(catalogue: Catalogue) -> Retention | None:
    if not catalogue.skipped:
        return None
    one = catalogue.skipped[0]
    blocked = (
        f"`{one.snapshot}` cannot be used, so which archives it needs is unknown: {one.reason}; "
        + one.way_out(f"move `{one.snapshot}.json` out of the store to give it up")
    )
    kept: dict[str, tuple[str, ...]] = {each.id: ("blocked",) for each in catalogue.snapshots}
    return Retention(kept=kept, removed=(), unneeded_archives=(), blocked=blocked)


def _plan(
    catalogue: Catalogue,
    lineage: Lineage,
    kept: dict[str, tuple[str, ...]],
    noted: Mapping[str, str],
) -> Retention:
    snapshots, problems = catalogue.snapshots, catalogue.archive_problems
    removed = tuple(one.id for one in snapshots if one.id not in kept)
    unneeded = _unneeded(snapshots, frozenset(kept))
    staying = problems.keys() & set(removed) - set(unneeded)
    return Retention(
        kept=kept,
        removed=removed,
        unneeded_archives=unneeded,
        damaged_archives={one: problems[one] for one in staying},
        lineage={
            **parents_of_removed(snapshots, noted, removed),
            **without(snapshots, lineage, removed),
        },
    )


def keep(
    manifests: Iterable[Manifest],
    rules: KeepRules,
    decided: Decided = Decided(),  # noqa: B008 - frozen
    *,
    damaged: Collection[str] = (),
) -> dict[str, tuple[str, ...]]:
    """The ids that stay, oldest first, each with its reasons.

    `keep_daily = 7` keeps the newest snapshot of each of the last seven days *that have one* (UTC),
    so a month without work ages nothing away; hours and ISO weeks likewise.
    """
    ordered = sorted(manifests, key=lambda one: one.id, reverse=True)
    bad = {*damaged, *decided.damaged}
    good = [one for one in ordered if one.verified and one.id not in bad]
    reasons: dict[str, list[str]] = {one.id: [] for one in ordered}
    for snapshot in _newest(ordered):
        reasons[snapshot].append("newest")
    backups = [one for one in good if _is_backup(one)]
    for snapshot in {one.id for one in [*good[:KEPT_VERIFIED], *backups[:KEPT_VERIFIED]]}:
        reasons[snapshot].append("verified")
    for newest_first in (ordered, good):
        _apply_rules(newest_first, rules, reasons)
        _apply_rules([one for one in newest_first if _is_backup(one)], rules, reasons)
    lineage = lineage_of(ordered, decided.noted)
    _keep_special(ordered, lineage, rules, decided, reasons)
    _spare_unreplaced(ordered, good, reasons)
    _keep_fulls(good, lineage, reasons)
    return {one: tuple(reasons[one]) for one in sorted(reasons) if reasons[one]}


def _newest(newest_first: Sequence[Manifest]) -> list[str]:
    """The id of the newest one, in a list; a fork's when there is nothing else."""
    work = [one.id for one in newest_first if not one.beside]
    return work[:1] or [one.id for one in newest_first[:1]]


def _is_backup(one: Manifest) -> bool:
    """Whether it is the present work as it was saved, and nothing that was taken on the way or beside."""
    return one.purpose not in PASSING and not one.beside


def _keep_special(
    newest_first: Sequence[Manifest],
    lineage: Lineage,
    rules: KeepRules,
    decided: Decided,
    reasons: dict[str, list[str]],
) -> None:
    """What a person named or marked, and what no later snapshot continues."""
    ends = tips(newest_first, lineage) - set(_newest(newest_first))
    now = _now(newest_first, decided.now)
    for one in newest_first:
        if mark := decided.marks.get(one.id):
            reasons[one.id].append(_MARKED[mark.why])
        if one.id in decided.jobs and is_younger(now - decided.jobs[one.id][1], rules.keep_jobs):
            reasons[one.id].append("job")
        age = now - _begun(one, now)
        if one.purpose == "asked" and one.message and is_younger(age, rules.keep_named):
            reasons[one.id].append("named")
        if is_younger(age, rules.keep_unmerged):
            reasons[one.id] += ["safety"] if one.purpose == "safety" else []
            reasons[one.id] += ["fork"] if one.id in ends else []


def _now(newest_first: Sequence[Manifest], clock: datetime) -> datetime:
    return min([clock, *(taken_at(one) for one in newest_first[:2][-1:])])


def _begun(one: Manifest, now: datetime) -> datetime:
    """From when its age counts: the id, which is later than the manifest after a backup with the clock behind.

    An id from the future was moved behind one of a clock that was ahead.
    """
    by_id = begun_at(one.id)
    return by_id if by_id <= now else taken_at(one)


def is_younger(age: timedelta, span: Span) -> bool:
    """Whether a rule with this span still keeps something of this age."""
    return span.seconds is None or age < timedelta(seconds=span.seconds)


def _keep_fulls(good: Sequence[Manifest], lineage: Lineage, reasons: dict[str, list[str]]) -> None:
    """Of each line that stays, the newest full snapshot."""
    fulls = {one.id for one in good if one.kind == "full"}
    inner: set[str] = set()
    for one in filter(reasons.get, sorted(reasons, reverse=True)):
        is_end = one not in inner
        inner.update(_ancestors(one, lineage, inner))
        full = newest_full(one, lineage, fulls) if is_end else None
        if full and "full" not in reasons[full]:  # several lines may have come from it
            reasons[full].append("full")


def _ancestors(snapshot: str, lineage: Lineage, known: Collection[str]) -> list[str]:
    """What it came from, up to one that is known: then so are all before it."""
    line = [one for one in line_of(snapshot, lineage) if one != snapshot]
    return list(takewhile(lambda one: one not in known, line))


def _apply_rules(
    newest_first: Sequence[Manifest], rules: KeepRules, reasons: dict[str, list[str]]
) -> None:
    wanted: list[tuple[str, int, Callable[[Manifest], object]]] = [
        ("last", rules.keep_last, lambda one: one.id),
        ("hourly", rules.keep_hourly, lambda one: (taken_at(one).date(), taken_at(one).hour)),
        ("daily", rules.keep_daily, lambda one: taken_at(one).date()),
        ("weekly", rules.keep_weekly, lambda one: taken_at(one).isocalendar()[:2]),
    ]
    for reason, count, period in wanted:
        for snapshot in _newest_of_each(newest_first, count, period):
            if reason not in reasons[snapshot]:
                reasons[snapshot].append(reason)


def _newest_of_each(
    newest_first: Sequence[Manifest], count: int, period: Callable[[Manifest], object]
) -> list[str]:
    chosen: dict[object, str] = {}
    for one in newest_first:
        chosen.setdefault(period(one), one.id)
        if len(chosen) > count:
            break
    return list(chosen.values())[:count]


def _spare_unreplaced(
    ordered: Sequence[Manifest], good: Sequence[Manifest], reasons: dict[str, list[str]]
) -> None:
    newest_good = _newest(good)[0] if good else ""
    for one in ordered:
        if one.id >= newest_good and not reasons[one.id]:
            reasons[one.id].append("nothing newer is verified")


def find_spare(
    catalogue: Catalogue, plan: Retention, size_bytes: Callable[[str], int]
) -> str | None:
    """Of the snapshots that only a counting rule keeps, the one that frees the most; the oldest of several.

    What it frees are archives that no other one needs. Never the newest one, nor the last that could be restored.
    """
    needed = Counter(each for one in catalogue.snapshots for each in needed_archives(one))
    last = {one.id for one in (catalogue.newest_readable, catalogue.latest_whole) if one}
    last.update([one for one, reasons in plan.kept.items() if "verified" in reasons][-1:])
    freed: dict[str, int] = {}
    for one in catalogue.snapshots:
        is_special = not _WANTED.isdisjoint(plan.kept.get(one.id, ()))
        if one.id not in last and not is_special and needed[one.id] == 1:
            own = [archive for archive in needed_archives(one) if needed[archive] == 1]
            freed[one.id] = sum(map(size_bytes, own))
    return max(freed, key=lambda one: freed[one], default=None)


def _unneeded(snapshots: Sequence[Manifest], kept: frozenset[str]) -> tuple[str, ...]:
    mentioned = {archive for one in snapshots for archive in needed_archives(one)}
    needed = {archive for one in snapshots if one.id in kept for archive in needed_archives(one)}
    return tuple(sorted(mentioned - needed))
