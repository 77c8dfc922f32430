"""Which snapshots stay and which go: pure rules over manifests. Nothing is deleted here.

Invariants, each with a test:
- the newest snapshot stays, and the three newest verified ones;
- nothing goes unless a newer snapshot is verified and whole: a run of bad backups deletes nothing;
- a damaged or unverified snapshot never takes the place of a good one: the rules are applied to
  all snapshots and once more to the good ones alone, and what either keeps stays;
- an archive goes only if no manifest that stays needs it. A snapshot that goes may leave its
  archive behind: it is no longer listed, and the archive lives until the last snapshot that
  needs it goes. So an archive without a manifest is garbage only if no manifest needs it;
- while any manifest cannot be read, nothing goes: what it needs is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

import msgspec

from scratchflow.model.snapshot import Manifest
from scratchflow.store.catalogue import Catalogue, begun_at, needed_archives

KEPT_VERIFIED = 3


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


class Retention(msgspec.Struct, frozen=True):
    """What stays, with every reason for it, and what goes."""

    kept: dict[str, tuple[str, ...]]
    removed: tuple[str, ...]
    # Archives that nothing needs once the removed manifests are gone.
    unneeded_archives: tuple[str, ...]
    # Why nothing may be removed at all, if so.
    blocked: str | None = None


def plan_retention(catalogue: Catalogue, rules: KeepRules) -> Retention:
    """What `prune` will do with the place as it is in the catalogue."""
    snapshots = catalogue.snapshots
    if catalogue.skipped:
        one = catalogue.skipped[0]
        blocked = (
            f"`{one.snapshot}` cannot be used, so which archives it needs is unknown: {one.reason}; "
            f"move `{one.snapshot}.json` out of the store to give it up"
        )
        kept: dict[str, tuple[str, ...]] = {each.id: ("blocked",) for each in snapshots}
        return Retention(kept=kept, removed=(), unneeded_archives=(), blocked=blocked)
    reasons = keep(snapshots, rules, damaged=catalogue.damaged)
    removed = tuple(one.id for one in snapshots if one.id not in reasons)
    unneeded = _unneeded(snapshots, frozenset(reasons))
    return Retention(kept=reasons, removed=removed, unneeded_archives=unneeded)


def keep(
    manifests: Iterable[Manifest], rules: KeepRules, *, damaged: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """The ids that stay, oldest first, each with its reasons.

    `keep_daily = 7` keeps the newest snapshot of each of the last seven days *that have one* (UTC),
    so a month without work ages nothing away; hours and ISO weeks likewise.
    """
    ordered = sorted(manifests, key=lambda one: one.id, reverse=True)
    good = [one for one in ordered if one.verified and one.id not in damaged]
    reasons: dict[str, list[str]] = {one.id: [] for one in ordered}
    for one in ordered[:1]:
        reasons[one.id].append("newest")
    for one in good[:KEPT_VERIFIED]:
        reasons[one.id].append("verified")
    for newest_first in (ordered, good):
        _apply_rules(newest_first, rules, reasons)
    _spare_unreplaced(ordered, good, reasons)
    return {one: tuple(reasons[one]) for one in sorted(reasons) if reasons[one]}


def _apply_rules(
    newest_first: Sequence[Manifest], rules: KeepRules, reasons: dict[str, list[str]]
) -> None:
    wanted: list[tuple[str, int, Callable[[str], object]]] = [
        ("last", rules.keep_last, lambda snapshot: snapshot),
        ("hourly", rules.keep_hourly, lambda snapshot: snapshot[:11]),
        ("daily", rules.keep_daily, lambda snapshot: snapshot[:8]),
        ("weekly", rules.keep_weekly, lambda snapshot: begun_at(snapshot).isocalendar()[:2]),
    ]
    for reason, count, period in wanted:
        for snapshot in _newest_of_each(newest_first, count, period):
            if reason not in reasons[snapshot]:
                reasons[snapshot].append(reason)


def _newest_of_each(
    newest_first: Sequence[Manifest], count: int, period: Callable[[str], object]
) -> list[str]:
    chosen: dict[object, str] = {}
    for one in newest_first:
        chosen.setdefault(period(one.id), one.id)
        if len(chosen) > count:
            break
    return list(chosen.values())[:count]


def _spare_unreplaced(
    ordered: Sequence[Manifest], good: Sequence[Manifest], reasons: dict[str, list[str]]
) -> None:
    newest_good = good[0].id if good else ""
    for one in ordered:
        if one.id >= newest_good and not reasons[one.id]:
            reasons[one.id].append("nothing newer is verified")


def _unneeded(snapshots: Sequence[Manifest], kept: frozenset[str]) -> tuple[str, ...]:
    mentioned = {archive for one in snapshots for archive in needed_archives(one)}
    needed = {archive for one in snapshots if one.id in kept for archive in needed_archives(one)}
    return tuple(sorted(mentioned - needed))
