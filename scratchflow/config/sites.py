"""What is known of sites beforehand: how one is recognised, what to propose there, and what persists where.

The facts are in `sites.toml` beside this file. Nothing here looks at a cluster.
"""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

from scratchflow.config.toml import loads
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.text import closest

GENERIC = "generic"
"""The site of which nothing is known."""


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file; a key that is not known is a mistake in it."""


class Marks(Section, frozen=True):
    """How a site is recognised; each line is enough.

    Of hosts and variables one has to fit. Of directories and partitions all have to be there.
    Hosts and partitions may hold `*`.
    """

    hosts: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()


class Fact(Section, frozen=True):
    """Something that is true of a site; `source` is a key of its `sources`."""

    source: str


class Value(Fact, frozen=True):
    """One value of a profile, as `config set` takes it, and why it is this one."""

    key: str
    value: str
    reason: str
    # Only in jobs of this partition, and only if one of its nodes has as many.
    partition: str = ""
    cpus: int = 0
    gpus: int = 0


class Store(Fact, frozen=True):
    """A place for the store, used if the directory above it is the user's own.

    `*` stands for one name of any directory: each that fits is a place.
    """

    path: str
    reason: str


class Storage(Fact, frozen=True):
    """How long something stays where it is, and whether the site backs it up; empty: not known."""

    place: str
    lasts: str
    backed_up: str


class Account(Fact, frozen=True):
    """Why a job needs `--account` there."""

    reason: str


class Remark(Fact, frozen=True):
    """What people should know before they meet it."""

    text: str


class Site(Section, frozen=True):
    """One site, or one kind of cluster."""

    title: str
    summary: str
    name: str = ""
    marks: Marks = Marks()
    account: Account | None = None
    # In the order of preference.
    stores: tuple[Store, ...] = ()
    values: tuple[Value, ...] = ()
    storage: tuple[Storage, ...] = ()
    remarks: tuple[Remark, ...] = ()
    sources: dict[str, str] = {}

    def said_by(self, fact: Fact) -> str:
        """Where a fact comes from."""
        return self.sources[fact.source]


@functools.cache
def known_sites() -> dict[str, Site]:
    """Every site by its name, the generic one last."""
    text = Path(__file__).with_name("sites.toml").read_text(encoding="utf-8")
    return {
        name: msgspec.convert({**table, "name": name}, Site) for name, table in loads(text).items()
    }


def site_named(name: str) -> Site:
    """The site of this name, or a refusal with the closest one."""
    sites = known_sites()
    if name in sites:
        return sites[name]
    guess = closest(name, sites)
    meant = f" (did you mean `{guess}`?)" if guess else ""
    problem = f"there is no site `{name}`{meant}; `--list-sites` shows all of them"
    raise UsageInvalid(problem=problem, command="scratchflow setup")
