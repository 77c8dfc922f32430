"""Whatever ends the wait for a node early withdraws the request; a resumed one is nobody's to withdraw."""

from __future__ import annotations

import signal

import msgspec
import pytest

from scratchflow.cluster.slurm.submit import Submission, allocate, resume
from scratchflow.model.allocation import Allocation
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationMissing,
    AllocationPending,
)
from scratchflow.process.interrupted import Interrupted
from tests.unit.cluster.slurm.conftest import NAME, REQUEST, Cluster


def test_a_window_closed_by_hand_ends_a_request_that_was_not_granted(cluster: Cluster) -> None:
    cluster.meanwhile(cluster.salloc.stop)
    with pytest.raises(AllocationEnded):
        allocate(REQUEST, cluster.submission())
    assert cluster.open_jobs() == []


def test_a_watcher_that_fails_withdraws_the_request(cluster: Cluster) -> None:
    def fail(_: Allocation) -> None:
        raise BrokenPipeError

    submission = cluster.submission()
    broken = Submission(cluster.slurm, cluster.salloc, submission.patience, fail, submission.clock)
    with pytest.raises(BrokenPipeError):
        allocate(REQUEST, broken)
    assert cluster.open_jobs() == []


def test_a_job_that_shows_up_after_its_salloc_died_is_cancelled_too(cluster: Cluster) -> None:
    def killed_with_its_order_on_the_way() -> None:
        late = cluster.fake.jobs.pop(cluster.ours().job_id)
        cluster.salloc.job_id = 0

        def arrives() -> None:
            cluster.fake.jobs[late.job_id] = late

        cluster.meanwhile(arrives)
        raise KeyboardInterrupt

    cluster.meanwhile(killed_with_its_order_on_the_way)
    with pytest.raises(KeyboardInterrupt):
        allocate(REQUEST, cluster.submission())
    assert cluster.open_jobs() == []
    assert cluster.ours().state == "CANCELLED"


@pytest.mark.parametrize("gives_it_back", [True, False])
def test_a_salloc_cut_off_after_its_grant_counts_only_while_slurm_keeps_the_job(
    cluster: Cluster, gives_it_back: bool
) -> None:
    def given_back() -> None:
        cluster.ours().state = "CANCELLED"

    def cut_off(seen: Allocation) -> None:
        if seen.state == "running":
            cluster.salloc.stopped = True  # its window was taken by another run
            cluster.meanwhile(given_back if gives_it_back else lambda: None)

    cluster.fake.jobs.clear()
    submission = msgspec.structs.replace(cluster.submission(), watch=cut_off)
    if gives_it_back:
        with pytest.raises(AllocationEnded, match="cancelled"):
            allocate(REQUEST, submission)
    else:
        assert allocate(REQUEST, submission).state == "running"


def test_signals_during_the_withdrawal_arrive_after_it(cluster: Cluster) -> None:
    def interrupt_again() -> None:
        signal.raise_signal(signal.SIGINT)

    def interrupt() -> None:
        cluster.salloc.job_id = 0  # a salloc that does not withdraw by itself
        cluster.meanwhile(interrupt_again)
        raise KeyboardInterrupt

    cluster.meanwhile(interrupt)
    with pytest.raises(KeyboardInterrupt):
        allocate(REQUEST, cluster.submission())
    assert cluster.open_jobs() == []


def test_resume_waits_on_for_a_job_in_the_queue(cluster: Cluster) -> None:
    with pytest.raises(AllocationPending):
        allocate(REQUEST, cluster.submission(wait_s=5, keep_waiting=True))
    assert cluster.open_jobs() == ["pending"]

    def make_room() -> None:
        cluster.fake.jobs[1].state = "COMPLETED"
        cluster.fake.schedule()

    cluster.meanwhile(make_room)
    again = cluster.submission()
    assert resume(NAME, "aws", again).state == "running"


@pytest.mark.parametrize(
    ("error", "keep_waiting", "left"),
    [
        (Interrupted(signal.SIGHUP), True, ["pending"]),
        (Interrupted(signal.SIGTERM), True, ["pending"]),
        (BrokenPipeError(), True, ["pending"]),
        (Interrupted(signal.SIGINT), True, []),
        (Interrupted(signal.SIGHUP), False, []),
    ],
)
def test_a_request_outlives_whoever_waits_for_it_only_with_keep_waiting(
    cluster: Cluster, error: BaseException, keep_waiting: bool, left: list[str]
) -> None:
    def interrupt() -> None:
        raise error

    cluster.meanwhile(interrupt)
    with pytest.raises(type(error)):
        allocate(REQUEST, cluster.submission(None, keep_waiting=keep_waiting))
    assert cluster.open_jobs() == left


def test_a_request_that_nobody_has_heard_of_goes_with_whoever_asked(cluster: Cluster) -> None:
    def lost(_: Allocation) -> None:
        raise Interrupted(signal.SIGHUP)

    asked = msgspec.structs.replace(cluster.submission(None, keep_waiting=True), watch=lost)
    with pytest.raises(Interrupted):
        allocate(REQUEST, asked)
    assert cluster.open_jobs() == []


def test_resume_of_a_job_that_is_gone_ends_at_once(cluster: Cluster) -> None:
    with pytest.raises(AllocationMissing):
        resume(NAME, "aws", cluster.submission())


def test_resume_leaves_the_job_when_it_is_interrupted_but_not_at_the_limit(
    cluster: Cluster,
) -> None:
    with pytest.raises(AllocationPending):
        allocate(REQUEST, cluster.submission(wait_s=5, keep_waiting=True))

    def interrupt() -> None:
        raise KeyboardInterrupt

    cluster.meanwhile(interrupt)
    with pytest.raises(KeyboardInterrupt):
        resume(NAME, "aws", cluster.submission())
    assert cluster.open_jobs() == ["pending"]
    with pytest.raises(AllocationPending):
        resume(NAME, "aws", cluster.submission(wait_s=5))
    assert cluster.open_jobs() == []
