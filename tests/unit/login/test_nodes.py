"""`nodes`: what Slurm has, with the copies that the store knows of beside it."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.nodes import partitions
from scratchflow.cluster.slurm.request import job_name
from scratchflow.login import host
from scratchflow.login.host import LoginHost
from scratchflow.login.nodes import (
    gpu_types,
    newest_not,
    partition_shown,
    show_nodes,
    warm_nodes,
)
from scratchflow.model.allocation import GpuCount, Node, Partition
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.requests import NOTHING
from scratchflow.store.directory import find_place
from scratchflow.store.nodes import read_nodes, record_node
from scratchflow.testing.slurm import FakeSlurm
from tests.unit.login.status.test_status import NODE, Login


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    fake = FakeSlurm()
    monkeypatch.setattr(host, "this_slurm", lambda _: Slurm(fake, "alice", "login"))
    return fake


def here(login: Login) -> LoginHost:
    return LoginHost(login.settings, login.environment, lambda _: None)


def test_a_node_with_a_copy_is_warm_and_the_others_are_not(held: Login, slurm: FakeSlurm) -> None:
    slurm.add("somebody's")
    rows = {node.name: node for node in show_nodes(here(held), NOTHING).nodes}
    assert set(rows) == set(slurm.nodes)
    assert rows[NODE].warm == held.desk.ids[-1]
    assert rows[NODE].cpus_free < rows["node-2"].cpus_free
    assert rows["node-2"].warm is None


def test_the_node_of_the_profile_is_told(held: Login, slurm: FakeSlurm) -> None:
    slurm.add(job_name("test", "abc123"), nodes="node-2")
    slurm.add(job_name("test", "abc124"), state="TIMEOUT", nodes="node-3")
    slurm.add(job_name("other", "abc125"))
    assert show_nodes(here(held), NOTHING).held == ["node-2"]


def test_every_node_of_a_job_of_several_is_told(held: Login, slurm: FakeSlurm) -> None:
    slurm.add(job_name("test", "abc123"), nodes="node-[2-3]")
    assert show_nodes(here(held), NOTHING).held == ["node-2", "node-3"]


def test_a_store_that_is_out_of_order_hides_no_node(held: Login, slurm: FakeSlurm) -> None:
    profile = msgspec.structs.replace(held.settings.profile, store="/dev/null/store")
    held.settings = msgspec.structs.replace(held.settings, profile=profile)
    assert warm_nodes(held.settings, held.environment) == {}
    assert len(show_nodes(here(held), NOTHING).nodes) == len(slurm.nodes)


def test_a_slurm_that_is_away_is_no_empty_cluster(held: Login, slurm: FakeSlurm) -> None:
    slurm.up = False
    with pytest.raises(SlurmUnreachable):
        show_nodes(here(held), NOTHING)


def test_without_a_scheduler_there_are_none_to_show(login: Login) -> None:
    with pytest.raises(SchedulerMissing):
        show_nodes(here(login), NOTHING)


def test_a_copy_that_went_with_its_job_makes_no_node_warm(held: Login) -> None:
    place = find_place(held.desk.context.store, held.desk.context.workspace.name)
    record = next(one for one in read_nodes(place) if one.node == NODE)
    assert NODE in warm_nodes(held.settings, held.environment)
    record_node(place, msgspec.structs.replace(record, goes_with_job=True))
    assert NODE not in warm_nodes(held.settings, held.environment)


def test_a_copy_of_another_snapshot_than_the_newest_is_told_apart(held: Login) -> None:
    desk = held.desk
    first = desk.ids[-1]
    assert newest_not(first, held.settings, held.environment) == ""
    desk.write("work/more", "later")
    newest = str(desk.backup().snapshot)
    assert newest_not(first, held.settings, held.environment) == newest
    desk.write("work/more", "beside it")
    desk.backup(beside=True, purpose="auto")
    assert newest_not(newest, held.settings, held.environment) == ""
    assert newest_not(None, held.settings, held.environment) == ""


def with_gpus(name: str, partition: str, *gpus: GpuCount) -> Node:
    return Node(
        name=name,
        partitions=(partition,),
        state="idle",
        available=True,
        cpus=8,
        cpus_free=8,
        memory_bytes=0,
        memory_free_bytes=0,
        gpus=sum(one.total for one in gpus),
        gpus_free=None,
        gpus_by_type=gpus,
    )


def test_gpus_are_counted_by_type_in_the_partition_that_is_asked_for() -> None:
    nodes = [
        with_gpus("n1", "dev", GpuCount(type="a100", total=4, free=1)),
        with_gpus("n2", "dev", GpuCount(type="a100", total=8, free=None)),
        with_gpus("n3", "big", GpuCount(type="t4", total=2, free=2)),
    ]
    (a100,) = gpu_types(nodes, "dev")
    assert (a100.type, a100.total, a100.free, a100.is_exact) == ("a100", 12, 1, False)
    assert (a100.most_on_a_node, a100.most_free_on_a_node) == (8, 1)
    assert [one.type for one in gpu_types(nodes, None)] == ["a100", "t4"]


def test_what_the_profile_asks_for_is_in_slurms_words(held: Login, slurm: FakeSlurm) -> None:
    assert slurm.nodes
    assert "--time=8:00:00" in show_nodes(here(held), NOTHING).asks.split()


def test_the_limits_of_partitions_that_take_jobs_are_told(held: Login, slurm: FakeSlurm) -> None:
    shown = show_nodes(here(held), NOTHING).partitions
    known = {one.name: one.max_time_s for one in partitions(Slurm(slurm, "alice", "login"))}
    assert known
    assert {one.name: one.max_time_s for one in shown} == known


def test_a_partition_tells_the_most_that_one_of_its_nodes_gives() -> None:
    nodes = [
        with_gpus("n1", "dev", GpuCount(type="a100", total=4, free=1)),
        msgspec.structs.replace(with_gpus("n2", "dev"), cpus=32, memory_bytes=64),
        with_gpus("n3", "big", GpuCount(type="t4", total=2, free=2)),
    ]
    dev = Partition(
        name="dev", default=True, up=True, max_time_s=600, default_time_s=None, nodes=("n1", "n2")
    )
    shown = partition_shown(dev, nodes)
    assert (shown.max_time_s, shown.most_cpus, shown.most_memory_bytes) == (600, 32, 64)
    assert [one.type for one in shown.gpu_types] == ["a100"]
    limited = msgspec.structs.replace(dev, max_cpus=16, max_memory_bytes=1024)
    shown = partition_shown(limited, nodes)
    assert (shown.most_cpus, shown.most_memory_bytes) == (16, 64)
    assert partition_shown(dev, []).most_cpus is None
