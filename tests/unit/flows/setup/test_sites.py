"""A site is recognised by what was seen, and proposes only what fits the cluster that was seen."""

from __future__ import annotations

from typing import Any

import pytest

from scratchflow.config.sites import GENERIC, site_named
from scratchflow.flows.setup.propose import propose
from scratchflow.flows.setup.sites import (
    account_checks,
    chosen_site,
    list_sites,
    values_for,
    what_to_look_for,
)
from scratchflow.model.results.setup import PartitionSeen, PlaceSeen, SetupValue, Surveyed
from tests.unit.flows.setup.test_propose import DISK, GIB, HOME, WORK, cluster

DEV = PartitionSeen(name="dev", is_default=False, max_time_s=None, most_cpus=96, most_gpus=4)
A100 = PartitionSeen(
    name="plgrid-gpu-a100", is_default=True, max_time_s=48 * 3600, most_cpus=128, most_gpus=8
)


def place(path: str) -> PlaceSeen:
    return PlaceSeen(path=path, free_bytes=GIB, file_system="lustre", is_shared=True)


def proposed(name: str, seen: Surveyed, **given: str) -> dict[str, SetupValue]:
    flags = {key.replace("__", "."): value for key, value in given.items()}
    values = propose(seen, flags, alias="a", workspace=WORK, site=site_named(name))
    return {one.key: one for one in values}


@pytest.mark.parametrize(
    ("login", "facts", "site"),
    [
        ("me@narval.alliancecan.ca", {}, "alliance"),
        ("cc", {"variables": ["CC_CLUSTER"]}, "alliance"),
        ("cc", {"directories": ["/cvmfs/soft.computecanada.ca"]}, "alliance"),
        ("login.server.mila.quebec", {}, "mila"),
        ("mila", {"directories": ["/home/mila", "/network/scratch"]}, "mila"),
        ("other", {"directories": ["/network/scratch"]}, GENERIC),
        ("mila", {"host": "login-2.server.mila.quebec"}, "mila"),
        ("aws", {"directories": ["/opt/parallelcluster"]}, "aws-parallelcluster"),
        ("gcp", {"host": "hpc-login-001.c.my-project.internal"}, "gcp-slurm"),
        ("aws", {"host": "ip-10-0-0-1.us-west-2.compute.internal"}, GENERIC),
        ("me@athena.cyfronet.pl", {}, "plgrid"),
        ("athena", {"partitions": [A100]}, "plgrid"),
        ("login", {}, GENERIC),
    ],
)
def test_a_site_is_recognised_by_any_of_its_marks(
    login: str, facts: dict[str, Any], site: str
) -> None:
    found = chosen_site("", cluster(**facts), login)
    assert found.site.name == site
    assert bool(found.because) == (site != GENERIC)


def test_the_users_word_wins() -> None:
    seen = cluster(variables=["CC_CLUSTER"])
    assert chosen_site("mila", seen, "narval.alliancecan.ca").site.name == "mila"
    assert chosen_site(GENERIC, seen, "narval.alliancecan.ca").site.name == GENERIC
    given = proposed("alliance", seen, scratch="/my/scratch", store="/my/store")
    assert (given["scratch"].value, given["scratch"].reason) == ("/my/scratch", "your choice")
    assert given["store"].value == "/my/store"


def test_alliance_proposes_the_jobs_directory_project_space_and_an_account() -> None:
    seen = cluster(
        site_stores=[place("~/scratchflow"), place("~/projects/def-a/$USER/scratchflow")],
        account_refusal="Please specify one of the following accounts",
        accounts=["def-a", "rrg-b"],
    )
    values = proposed("alliance", seen)
    assert values["scratch"].value == "$SLURM_TMPDIR"
    assert values["store"].value == "~/projects/def-a/$USER/scratchflow"
    assert "backed up" in values["store"].reason
    assert "or ~/scratchflow" in values["store"].reason
    assert values["slurm.account"].value == "def-a"
    assert "rrg-b" in values["slurm.account"].reason
    assert all(values[key].reason.startswith("alliance: ") for key in ("scratch", "store"))


def test_mila_proposes_the_home_and_never_what_is_cleared() -> None:
    both = [place("~/scratchflow"), place("/network/projects/g/$USER/scratchflow")]
    values = proposed("mila", cluster(site_stores=both, accounts=["mila"]))
    assert (values["scratch"].value, values["store"].value) == ("$SLURM_TMPDIR", "~/scratchflow")
    assert "slurm.account" not in values


def test_without_a_place_of_the_site_the_store_is_what_was_found() -> None:
    assert proposed("alliance", cluster())["store"].value == HOME.path


def test_what_a_job_saw_counts_for_more_than_what_is_known() -> None:
    seen = cluster(job_id=7, in_job=[DISK])
    assert proposed("mila", seen)["scratch"].value == DISK.path


def test_the_values_of_a_partition_are_for_that_partition_with_nodes_that_are_large_enough() -> (
    None
):
    keys = {"slurm.ntasks", "slurm.gpus", "slurm.extra"}
    values = proposed("aws-parallelcluster", cluster(partitions=[DEV]))
    assert values["slurm.partition"].value == "dev"
    assert {values[key].value for key in keys} == {"96", "2", '["--oversubscribe"]'}
    assert values["scratch"].value == "/scratch/$USER"
    small = PartitionSeen(name="dev", is_default=False, max_time_s=None, most_cpus=8)
    values = proposed("aws-parallelcluster", cluster(partitions=[small]))
    assert keys & values.keys() == {"slurm.extra"}
    other = cluster(partitions=[DEV, A100])
    assert not keys & proposed("aws-parallelcluster", other, slurm__partition="gpu").keys()
    assert not keys & proposed("aws-parallelcluster", cluster()).keys()


def test_the_time_follows_the_partition_of_the_site() -> None:
    short = PartitionSeen(name="dev", is_default=False, max_time_s=600)
    values = proposed("aws-parallelcluster", cluster(partitions=[short]))
    assert values["slurm.time"].value == "00:10:00"


def test_an_account_is_demanded_only_where_slurm_refuses_a_job_without() -> None:
    refused = cluster(account_refusal="specify one")
    (check,) = account_checks(refused, "")
    assert (check.ok, check.fix) == (False, "`--account NAME`")
    assert "specify one" in check.detail
    assert account_checks(refused, "def-a") == []
    assert account_checks(cluster(), "") == []
    assert "slurm.account" not in values_for(site_named("alliance"), refused, {})


def test_a_cluster_nobody_knows_gets_an_account_too_if_slurm_wants_one() -> None:
    seen = cluster(account_refusal="Invalid account", accounts=["a"])
    assert proposed(GENERIC, seen)["slurm.account"].value == "a"


def test_the_login_host_is_asked_about_the_marks_of_every_site_at_once() -> None:
    asked = what_to_look_for()
    assert {"CC_CLUSTER", "PLG_GROUPS_STORAGE"} <= set(asked.variables)
    assert "/opt/parallelcluster" in asked.directories
    assert asked.stores.count("~/scratchflow") == 1


def test_the_list_says_what_persists_where_and_who_says_so() -> None:
    mila = next(site for site in list_sites().sites if site.name == "mila")
    scratch = next(one for one in mila.storage if one.place.startswith("$SCRATCH"))
    assert "90 days" in scratch.lasts
    assert (scratch.backed_up, scratch.source) == ("no", "Mila Docs: Storage")
    assert mila.known_by
