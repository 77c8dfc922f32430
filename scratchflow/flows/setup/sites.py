"""Which site a cluster belongs to, by what was seen there, and what is proposed because of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

import msgspec

from scratchflow.config.sites import GENERIC, Site, Value, known_sites, site_named
from scratchflow.model.requests import Survey
from scratchflow.model.results.checks import Check
from scratchflow.model.results.setup import (
    PlaceSeen,
    SetupValue,
    SiteShown,
    SitesListed,
    StorageOfSite,
    Surveyed,
)
from scratchflow.model.units import format_size

ACCOUNT = "slurm.account"
_MOST_SHOWN = 5


class Recognised(msgspec.Struct, frozen=True):
    """A site, and by what it was recognised, in words."""

    site: Site
    because: str


def what_to_look_for() -> Survey:
    """What the login host is asked about: the marks of every site, and their places for a store."""
    sites = known_sites().values()
    return Survey(
        variables=_once(name for site in sites for name in site.marks.variables),
        directories=_once(path for site in sites for path in site.marks.directories),
        stores=_once(store.path for site in sites for store in site.stores),
    )


def _once(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def chosen_site(wanted: str, seen: Surveyed, login: str) -> Recognised:
    """The site that somebody named, or the one whose marks were seen; else the generic one."""
    if wanted:
        return Recognised(site_named(wanted), "your choice")
    for site in known_sites().values():
        if because := _mark_of(site, seen, login):
            return Recognised(site, because)
    return Recognised(site_named(GENERIC), "")


def _mark_of(site: Site, seen: Surveyed, login: str) -> str:
    """The first mark of the site that was seen, in words."""
    marks = site.marks
    for host in filter(None, (login.rpartition("@")[2], seen.host)):
        if any(fnmatchcase(host.lower(), pattern) for pattern in marks.hosts):
            return f"the host is called {host}"
    for name in marks.variables:
        if name in seen.variables:
            return f"${name} is set there"
    if marks.directories and set(marks.directories) <= set(seen.directories):
        verb = "is" if len(marks.directories) == 1 else "are"
        return f"{' and '.join(marks.directories)} {verb} there"
    if found := _partitions_that_fit(marks.partitions, seen):
        return f"Slurm has the partition {', '.join(found)}"
    return ""


def _partitions_that_fit(patterns: tuple[str, ...], seen: Surveyed) -> list[str]:
    """One for each pattern, or none at all."""
    names = [partition.name for partition in seen.partitions]
    found = [
        next((name for name in names if fnmatchcase(name, pattern)), "") for pattern in patterns
    ]
    return found if all(found) else []


def values_for(site: Site, seen: Surveyed, given: Mapping[str, str]) -> dict[str, SetupValue]:
    """What the site's facts propose on the cluster that was seen, by key.

    A value for one partition is proposed with that partition only.
    """
    found: dict[str, SetupValue] = {}
    for value in site.values:
        wanted = given.get("slurm.partition") or found.get("slurm.partition", _NONE).value
        own = value.partition if value.key == "slurm.partition" else wanted
        if value.partition in {"", own} and _is_possible(value, seen):
            reason = f"{site.name}: {value.reason}"
            found[value.key] = SetupValue(key=value.key, value=value.value, reason=reason)
    if store := _store(site, seen):
        found["store"] = store
    if account := _account(site, seen):
        found[ACCOUNT] = account
    if seen.in_job:  # what a job of the user's saw counts for more
        found.pop("scratch", None)
    return found


_NONE = SetupValue(key="", value="", reason="")


def _is_possible(value: Value, seen: Surveyed) -> bool:
    """Whether the partition is there, with a node that is large enough."""
    if not value.partition:
        return True
    return any(
        one.name == value.partition and one.most_cpus >= value.cpus and one.most_gpus >= value.gpus
        for one in seen.partitions
    )


def _store(site: Site, seen: Surveyed) -> SetupValue | None:
    """The best of the site's places that the user has; the others are named beside it."""
    places = [
        (place, store.reason)
        for store in site.stores
        for place in seen.site_stores
        if fnmatchcase(place.path, store.path.replace("[", "[[]"))
    ]
    if not places:
        return None
    (best, reason), *others = places
    also = "".join(f"; or {one.path}" for one, _ in others[: _MOST_SHOWN - 1])
    text = f"{site.name}: {reason}; {_room(best)}{also}"
    return SetupValue(key="store", value=best.path, reason=text)


def _room(place: PlaceSeen) -> str:
    free = f"{format_size(place.free_bytes)} free"
    if place.quota_left_bytes is None:
        return free
    return f"{free}, {format_size(place.quota_left_bytes)} left of your quota"


def _account(site: Site, seen: Surveyed) -> SetupValue | None:
    """One of the accounts that the user has, where a job needs one."""
    if not seen.accounts or not (seen.account_refusal or site.account):
        return None
    first, *others = seen.accounts
    why = f"{site.name}: {site.account.reason}" if site.account else "Slurm takes no job without"
    shown = ", ".join(others[:_MOST_SHOWN])
    more = ", …" if len(others) > _MOST_SHOWN else ""
    reason = f"{why}; others: {shown}{more}" if others else why
    return SetupValue(key=ACCOUNT, value=first, reason=reason)


def account_checks(seen: Surveyed, account: str) -> list[Check]:
    """A failed check where Slurm takes no job without an account, and there is none in the profile."""
    if account or not seen.account_refusal:
        return []
    detail = f"Slurm takes no job without one: {seen.account_refusal}"
    return [Check(name="account", ok=False, detail=detail, fix="`--account NAME`")]


def list_sites() -> SitesListed:
    """Everything that is known beforehand."""
    return SitesListed(sites=[_shown(site) for site in known_sites().values()])


def _shown(site: Site) -> SiteShown:
    return SiteShown(
        name=site.name,
        title=site.title,
        summary=site.summary,
        known_by=list(known_by(site)),
        values=[
            SetupValue(key=one.key, value=one.value, reason=_with_source(site, one))
            for one in site.values
        ],
        stores=[store.path for store in site.stores],
        account=site.account.reason if site.account else "",
        storage=[
            StorageOfSite(
                place=one.place, lasts=one.lasts, backed_up=one.backed_up, source=site.said_by(one)
            )
            for one in site.storage
        ],
        remarks=[remark.text for remark in site.remarks],
    )


def _with_source(site: Site, value: Value) -> str:
    only = f"in partition `{value.partition}`: " if value.partition else ""
    return f"{only}{value.reason} ({site.said_by(value)})"


def known_by(site: Site) -> Iterator[str]:
    """The marks of the site, in words; each is enough."""
    marks = site.marks
    if marks.hosts:
        yield f"a host called {' or '.join(f'`{one}`' for one in marks.hosts)}"
    if marks.variables:
        yield f"{' or '.join(f'`${one}`' for one in marks.variables)} in the login shell"
    if marks.directories:
        yield " and ".join(f"`{one}`" for one in marks.directories)
    if marks.partitions:
        yield f"a partition called {' and '.join(f'`{one}`' for one in marks.partitions)}"
