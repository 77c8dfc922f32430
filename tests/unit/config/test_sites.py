"""The table of sites: every fact has a source, and everything that it proposes is a profile that loads."""

from __future__ import annotations

import pytest

from scratchflow.config.check import check_given_profile
from scratchflow.config.keys import require_known, typed_value
from scratchflow.config.sites import GENERIC, Fact, Site, known_sites, site_named
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.profile import require_rooted

SITES = [pytest.param(site, id=name) for name, site in known_sites().items()]


def facts(site: Site) -> list[Fact]:
    account = [site.account] if site.account else []
    return [*site.values, *site.stores, *site.storage, *site.remarks, *account]


def test_the_sites_that_were_promised_are_there_and_the_generic_one_knows_nothing() -> None:
    names = list(known_sites())
    assert {"aws-parallelcluster", "gcp-slurm", "alliance", "mila", "plgrid"} < set(names)
    assert names[-1] == GENERIC
    assert facts(site_named(GENERIC)) == []


@pytest.mark.parametrize("site", SITES)
def test_every_fact_has_a_source_and_every_source_a_fact(site: Site) -> None:
    assert {fact.source for fact in facts(site)} == set(site.sources)


@pytest.mark.parametrize("site", SITES)
def test_every_value_is_one_that_a_profile_may_hold(site: Site) -> None:
    for value in site.values:
        require_known(value.key, "sites.toml")
        typed = typed_value(value.key, value.value, "sites.toml")
        table, _, key = value.key.rpartition(".")
        check_given_profile({table: {key: typed}} if table else {key: typed}, "sites.toml")
    for store in site.stores:
        require_rooted("store", store.path)


@pytest.mark.parametrize("site", SITES)
def test_no_store_is_proposed_where_the_site_clears_files_away(site: Site) -> None:
    cleared = [one.place for one in site.storage if "no place for a store" in one.lasts.lower()]
    names = {name.strip() for place in cleared for name in place.split(",")}
    assert not [store.path for store in site.stores if store.path.startswith(tuple(names))]


@pytest.mark.parametrize("site", SITES)
def test_a_site_is_recognised_by_something_unless_it_is_the_generic_one(site: Site) -> None:
    marks = site.marks
    has_any = bool(marks.hosts or marks.variables or marks.directories or marks.partitions)
    assert has_any == (site.name != GENERIC)


def test_another_name_is_refused_with_the_closest_one() -> None:
    with pytest.raises(UsageInvalid, match="did you mean `alliance`"):
        site_named("aliance")
