"""The wait for a node in states that a real cluster cannot be brought into at will."""

from __future__ import annotations

import itertools

import pytest

from scratchflow.cluster.slurm.submit import allocate
from scratchflow.cluster.slurm.wait import CONFIGURE_S, OUT_OF_REACH_S, ended_error
from scratchflow.model.allocation import Allocation
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationPending,
    AllocationRefused,
    NodeFailed,
)
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.slurm import SlurmUnreachable
from tests.unit.cluster.slurm.conftest import REQUEST, Cluster


@pytest.mark.slow
def test_without_a_limit_the_wait_goes_on_until_the_grant(cluster: Cluster) -> None:
    began = cluster.fake.fake_clock.seconds

    def make_room_after_a_week() -> None:
        if cluster.fake.fake_clock.seconds - began > 7 * 86400:
            cluster.fake.jobs[1].state = "COMPLETED"
            cluster.fake.schedule()

    cluster.fake.fake_clock.on_sleep = make_room_after_a_week
    assert allocate(REQUEST, cluster.submission(None)).node == "node-1"


def test_the_watcher_sees_reason_and_grant(cluster: Cluster) -> None:
    def make_room() -> None:
        cluster.fake.jobs[1].state = "COMPLETED"
        cluster.fake.schedule()

    cluster.meanwhile(make_room)
    got = allocate(REQUEST, cluster.submission())
    assert [seen.state for seen in cluster.seen] == ["pending", "running"]
    assert cluster.seen[0].reason_text == "it is next, and waits for a node to become free"
    assert got == cluster.seen[-1].granted()
    assert cluster.salloc.left
    assert not cluster.salloc.stopped


@pytest.mark.parametrize(
    ("state", "error", "words"),
    [
        ("CANCELLED", AllocationEnded, "cancelled"),
        ("TIMEOUT", AllocationEnded, "time limit"),
        ("PREEMPTED", AllocationEnded, "higher priority"),
        ("OUT_OF_MEMORY", AllocationEnded, "memory"),
        ("DEADLINE", AllocationEnded, "deadline"),
        ("FAILED", AllocationEnded, "failed"),
        ("COMPLETING", AllocationEnded, "cancelled"),
        ("NODE_FAIL", NodeFailed, "node-1"),
        ("BOOT_FAIL", NodeFailed, "did not boot"),
    ],
)
def test_an_end_during_the_wait_is_told_with_its_cause(
    cluster: Cluster, state: str, error: type[ScratchflowError], words: str
) -> None:
    cluster.meanwhile(cluster.becomes(state))
    with pytest.raises(error, match=words):
        allocate(REQUEST, cluster.submission())


def test_a_booting_node_is_waited_for_beyond_the_limit(cluster: Cluster) -> None:
    cluster.meanwhile(cluster.becomes("CONFIGURING"))
    with pytest.raises(AllocationPending, match="its node is still being prepared"):
        allocate(REQUEST, cluster.submission(wait_s=5))
    assert cluster.fake.fake_clock.seconds >= 1_800_000_000 + CONFIGURE_S
    assert cluster.open_jobs() == []


@pytest.mark.parametrize("state", ["SUSPENDED", "EXPEDITING"])
def test_neither_a_suspended_nor_a_strange_job_passes_for_running(
    cluster: Cluster, state: str
) -> None:
    cluster.meanwhile(cluster.becomes(state))
    with pytest.raises(AllocationPending):
        allocate(REQUEST, cluster.submission(wait_s=5))
    assert cluster.open_jobs() == []


def test_a_reason_that_appears_later_is_refused_then(cluster: Cluster) -> None:
    cluster.meanwhile(cluster.becomes("PENDING", "QOSMaxWallDurationPerJobLimit"))
    with pytest.raises(AllocationRefused, match="more than the QOS allows a job"):
        allocate(REQUEST, cluster.submission())
    assert cluster.open_jobs() == []


def test_reasons_in_turn_that_a_healthy_job_shows_do_not_end_the_wait(cluster: Cluster) -> None:
    """As Slurm 23.11 and 24.05 show them where there is no accounting."""
    turns = itertools.cycle(["Resources", "InvalidAccount", "None", "PartitionConfig"])
    looks = 0

    def turn() -> None:
        nonlocal looks
        looks += 1
        cluster.ours().reason = next(turns)
        if looks == 100:
            cluster.becomes("RUNNING")()

    cluster.fake.fake_clock.on_sleep = turn
    assert allocate(REQUEST, cluster.submission(wait_s=3600)).state == "running"


def test_an_account_is_not_refused_where_there_are_none(cluster: Cluster) -> None:
    cluster.meanwhile(cluster.becomes("PENDING", "InvalidAccount"))
    with pytest.raises(AllocationPending, match="InvalidAccount"):
        allocate(REQUEST, cluster.submission(wait_s=300))


def test_an_account_that_is_not_valid_is_refused(cluster: Cluster) -> None:
    cluster.fake.accounted = {1: "a line of another job"}
    cluster.meanwhile(cluster.becomes("PENDING", "InvalidAccount"))
    with pytest.raises(AllocationRefused, match="the account is not valid"):
        allocate(REQUEST, cluster.submission(wait_s=300))


def test_a_limit_per_user_is_waited_for_while_another_job_of_his_runs(cluster: Cluster) -> None:
    cluster.meanwhile(cluster.becomes("PENDING", "QOSMaxGRESPerUser"))
    with pytest.raises(AllocationPending, match="QOSMaxGRESPerUser"):
        allocate(REQUEST, cluster.submission(wait_s=60))


def test_a_limit_per_user_refuses_when_nothing_else_of_his_runs(cluster: Cluster) -> None:
    def alone() -> None:
        cluster.fake.jobs[1].state = "COMPLETED"
        cluster.becomes("PENDING", "QOSMaxGRESPerUser")()

    cluster.meanwhile(alone)
    with pytest.raises(AllocationRefused, match="QOSMaxGRESPerUser"):
        allocate(REQUEST, cluster.submission())


def test_a_restart_of_slurmctld_does_not_cost_the_place_in_the_queue(cluster: Cluster) -> None:
    waits_until = cluster.fake.fake_clock.seconds + OUT_OF_REACH_S / 2

    def away() -> None:
        cluster.fake.up = cluster.fake.fake_clock.seconds > waits_until
        if cluster.fake.up:
            cluster.fake.jobs[1].state = "COMPLETED"
            cluster.fake.schedule()

    cluster.fake.fake_clock.on_sleep = away
    assert allocate(REQUEST, cluster.submission()).state == "running"
    assert [seen.state for seen in cluster.seen] == ["pending", "unknown", "running"]
    assert cluster.seen[1].reason_text == "Slurm does not answer"


def test_a_slurmctld_that_stays_away_ends_the_wait_and_says_what_is_left(cluster: Cluster) -> None:
    def away() -> None:
        cluster.fake.up = False

    cluster.meanwhile(away)
    with pytest.raises(SlurmUnreachable, match="may still be in its queue"):
        allocate(REQUEST, cluster.submission())


def test_a_job_that_slurmctld_forgot_is_not_waited_for(cluster: Cluster) -> None:
    def forget() -> None:
        del cluster.fake.jobs[cluster.ours().job_id]

    cluster.meanwhile(forget)
    with pytest.raises(AllocationEnded, match="no longer knows"):
        allocate(REQUEST, cluster.submission())


def test_the_limit_is_kept_to_the_second_however_rarely_slurm_is_asked(cluster: Cluster) -> None:
    began = cluster.fake.fake_clock.clock.monotonic()
    with pytest.raises(AllocationPending, match="after 45s"):
        allocate(REQUEST, cluster.submission(wait_s=45))
    assert cluster.fake.fake_clock.clock.monotonic() - began < 46


def test_a_request_that_slurm_ends_because_no_node_can_meet_it_is_refused(cluster: Cluster) -> None:
    def end() -> None:
        ours = cluster.ours()
        ours.state, ours.reason, ours.nodes = "FAILED", "BadConstraints", ""

    cluster.meanwhile(end)
    with pytest.raises(AllocationRefused, match="no node can meet its constraints"):
        allocate(REQUEST, cluster.submission())


@pytest.mark.parametrize(
    ("state", "nodes", "words"),
    [
        ("ended", ("node-1",), "node `node-1` failed"),
        ("ended", ("node-1", "node-2"), "job 7 has ended: one of its nodes failed"),
        # What Slurm lists while it cleans up did not fail.
        ("completing", ("node-1",), "job 7 has ended: one of its nodes failed"),
        ("completing", (), "job 7 has ended: its node failed"),
    ],
)
def test_a_node_is_blamed_only_when_it_is_known_to_have_failed(
    state: str, nodes: tuple[str, ...], words: str
) -> None:
    seen = Allocation(job_id=7, name="j", state=state, cause="node_fail", nodes=nodes)  # type: ignore[arg-type]  # as given
    assert str(ended_error(seen)).startswith(words)
