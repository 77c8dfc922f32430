"""The proposed profile: each value follows from what the cluster offers, and says why."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scratchflow.config.sites import GENERIC, site_named
from scratchflow.flows.setup.propose import as_it_is, propose
from scratchflow.model.profile import Profile
from scratchflow.model.results.setup import PartitionSeen, PlaceSeen, SetupValue, Surveyed

GIB = 1 << 30
DEBUG = PartitionSeen(name="debug", is_default=True, max_time_s=600)
GPU = PartitionSeen(name="gpu", is_default=False, max_time_s=86400)
HOME = PlaceSeen(path="~/scratchflow", free_bytes=50 * GIB, file_system="nfs4", is_shared=True)
FSX = PlaceSeen(
    path="/fsx/$USER/scratchflow", free_bytes=900 * GIB, file_system="lustre", is_shared=True
)
DISK = PlaceSeen(path="/scratch/$USER", free_bytes=GIB, file_system="xfs", is_shared=None)
SLOW = PlaceSeen(path="/scratch/$USER", free_bytes=GIB, file_system="lustre", is_shared=True)


def cluster(**facts: Any) -> Surveyed:
    usual = Surveyed(
        user="alice",
        home="/home/alice",
        cluster="mini",
        partitions=[DEBUG, GPU],
        stores=[HOME],
        scratches=[DISK],
        node_tmp="/tmp",
    )
    return msgspec.structs.replace(usual, **facts)


WORK = SetupValue(key="workspace", value="work", reason="your files")


def proposed(seen: Surveyed, **given: str) -> dict[str, SetupValue]:
    flags = {key.replace("__", "."): value for key, value in given.items()}
    values = propose(seen, flags, alias="a", workspace=WORK, site=site_named(GENERIC))
    return {one.key: one for one in values}


def test_slurms_default_partition_and_the_longest_it_allows() -> None:
    values = proposed(cluster())
    assert values["slurm.partition"].value == "debug"
    assert "gpu" in values["slurm.partition"].reason
    assert values["slurm.time"].value == "00:10:00"
    assert values["slurm.time"].reason.startswith("the longest that `debug` allows")


@pytest.mark.parametrize(
    ("other_s", "words"),
    [(14400, "; `gpu` allows 4h"), (None, "; `gpu` has no limit"), (600, ""), (60, "")],
)
def test_a_partition_that_gives_more_time_is_named(other_s: int | None, words: str) -> None:
    gpu = msgspec.structs.replace(GPU, max_time_s=other_s)
    reason = proposed(cluster(partitions=[DEBUG, gpu]))["slurm.time"].reason
    assert reason == f"the longest that `debug` allows{words}"


def test_the_time_follows_the_partition_that_was_asked_for() -> None:
    values = proposed(cluster(), slurm__partition="gpu")
    assert (values["slurm.partition"].value, values["slurm.time"].value) == ("gpu", "08:00:00")


@pytest.mark.parametrize("limit_s", [None, 7 * 86400])
def test_no_limit_or_a_long_one_is_a_working_day(limit_s: int | None) -> None:
    long = PartitionSeen(name="debug", is_default=True, max_time_s=limit_s)
    assert proposed(cluster(partitions=[long]))["slurm.time"].value == "08:00:00"


def test_without_a_default_partition_slurm_decides() -> None:
    assert "slurm.partition" not in proposed(cluster(partitions=[GPU]))


def test_the_store_is_the_home_unless_a_network_file_system_has_more_room() -> None:
    assert proposed(cluster())["store"].value == HOME.path
    assert proposed(cluster(stores=[HOME, FSX]))["store"].value == FSX.path
    smaller = msgspec.structs.replace(FSX, free_bytes=GIB)
    assert proposed(cluster(stores=[HOME, smaller]))["store"].value == HOME.path
    local = msgspec.structs.replace(FSX, is_shared=None)
    assert proposed(cluster(stores=[HOME, local]))["store"].value == HOME.path


def test_what_was_not_chosen_for_the_store_is_named_with_its_room() -> None:
    reason = proposed(cluster(stores=[HOME, FSX]))["store"].reason
    assert "lustre" in reason
    assert "900 GiB free" in reason
    assert "~/scratchflow, 50.0 GiB free" in reason


def test_a_quota_is_told_and_counts_as_the_room_there_is() -> None:
    little = msgspec.structs.replace(FSX, quota_left_bytes=GIB)
    store = proposed(cluster(stores=[HOME, little]))["store"]
    assert store.value == HOME.path
    assert "900 GiB free, 1.00 GiB left of your quota" in store.reason
    much = msgspec.structs.replace(FSX, quota_left_bytes=60 * GIB)
    assert proposed(cluster(stores=[HOME, much]))["store"].value == FSX.path


@pytest.mark.parametrize(
    ("facts", "path"),
    [
        ({}, "/scratch/$USER"),
        ({"scratches": []}, "/scratch/$USER"),
        ({"scratches": [SLOW]}, "/tmp/$USER"),
        ({"node_tmp": "/local/tmp"}, "/local/tmp/$USER"),
        ({"node_tmp": "/local/%n"}, "/scratch/$USER"),
        ({"node_tmp": ""}, "/scratch/$USER"),
    ],
)
def test_scratch_is_a_disk_of_the_nodes(facts: dict[str, Any], path: str) -> None:
    assert proposed(cluster(**facts))["scratch"].value == path


def test_every_proposal_is_a_profile_that_loads() -> None:
    for seen in (cluster(), cluster(scratches=[SLOW], stores=[HOME, FSX])):
        values = proposed(seen)
        Profile(store=values["store"].value, scratch=values["scratch"].value)


def test_what_was_given_is_never_replaced_and_is_called_a_choice() -> None:
    values = proposed(cluster(), store="/data/me", slurm__gpus="2")
    assert (values["store"].value, values["store"].reason) == ("/data/me", "your choice")
    assert values["slurm.gpus"].value == "2"


def test_a_profile_that_is_there_keeps_its_values() -> None:
    values = {one.key: one for one in as_it_is(Profile(store="/s"), {"scratch": "/t"})}
    assert (values["store"].value, values["store"].reason) == ("/s", "as it is")
    assert (values["scratch"].value, values["scratch"].reason) == ("/t", "your choice")


def test_what_a_running_job_sees_comes_before_every_guess() -> None:
    own = PlaceSeen(path="$SLURM_TMPDIR", free_bytes=GIB, file_system="ext4", is_shared=None)
    values = proposed(cluster(job_id=7, in_job=[own, DISK], node_tmp="/local"))
    assert values["scratch"].value == "$SLURM_TMPDIR"
    for words in ("ext4", "job 7", "removed when the job ends"):
        assert words in values["scratch"].reason
    assert proposed(cluster(job_id=7, in_job=[DISK]))["scratch"].value == "/scratch/$USER"


def test_a_site_that_gives_each_job_a_directory_is_believed() -> None:
    value = proposed(cluster(tmpdir_prolog="/etc/slurm/task_prolog"))["scratch"]
    assert value.value == "$SLURM_TMPDIR"
    assert "`/etc/slurm/task_prolog`" in value.reason
    assert "first node" in value.reason
