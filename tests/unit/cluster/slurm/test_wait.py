"""The wait for a node in states that a real cluster cannot be brought into at will."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from scratchflow.cluster.command import CommandMissing, CommandUnanswered
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.jobs import cancel, job, our_jobs
from scratchflow.cluster.slurm.submit import Request, Submission, allocate, resume
from scratchflow.cluster.slurm.wait import CONFIGURE_S, OUT_OF_REACH_S, Patience
from scratchflow.model.allocation import Allocation, AllocationState, EndCause
from scratchflow.model.errors import (
    AllocationEnded,
    AllocationMissing,
    AllocationPending,
    AllocationRefused,
    NodeFailed,
    ScratchflowError,
    SlurmUnreachable,
)
from scratchflow.model.profile import SlurmOptions
from scratchflow.process.child import Completed
from scratchflow.testing.salloc import FakeSalloc
from scratchflow.testing.slurm import FakeJob, FakeSlurm

REQUEST = Request("aws", SlurmOptions(time="5:00"), "abc123", node="node-1")
NAME = REQUEST.name


class Cluster:
    """A fake Slurm, a request under way, and what its watcher saw."""

    def __init__(self) -> None:
        self.fake = FakeSlurm()
        self.slurm = Slurm(self.fake, "alice", "login")
        self.salloc = FakeSalloc(self.fake)
        self.seen: list[Allocation] = []

    def submission(self, wait_s: float | None = 600, *, keep_waiting: bool = False) -> Submission:
        clock = self.fake.fake_clock.clock
        patience = Patience(wait_s, keep_waiting)
        return Submission(self.slurm, self.salloc, patience, self.seen.append, clock)

    def meanwhile(self, happens: Callable[[], None]) -> None:
        """Happens when the wait first sleeps."""

        def once() -> None:
            self.fake.fake_clock.on_sleep = lambda: None
            happens()

        self.fake.fake_clock.on_sleep = once

    def becomes(self, state: str, reason: str = "None") -> Callable[[], None]:
        def change() -> None:
            ours = self.ours()
            ours.state, ours.reason, ours.nodes = state, reason, "node-1"

        return change

    def ours(self) -> FakeJob:
        return next(job for job in self.fake.jobs.values() if job.name == NAME)

    def open_jobs(self) -> list[str]:
        return [found.state for found in our_jobs(self.slurm)]


@pytest.fixture
def cluster() -> Cluster:
    found = Cluster()
    found.fake.add("in the way")  # on node-1
    return found


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


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (CommandUnanswered("no answer within 20 s"), "within 20 s"),
        (CommandMissing("squeue"), "PATH"),
    ],
)
def test_a_slurm_that_hangs_or_is_not_there_is_out_of_reach(error: Exception, words: str) -> None:
    def run(argv: object, timeout_s: float) -> Completed:
        assert timeout_s <= 20, argv
        raise error

    slurm = Slurm(run, "alice", "login")
    with pytest.raises(SlurmUnreachable, match=words):
        our_jobs(slurm)
    with pytest.raises(SlurmUnreachable, match=words):
        cancel(slurm, 7, "aws")


@pytest.mark.parametrize(
    ("line", "state", "cause"),
    [
        ("7|TIMEOUT|alice|dev|n1|1|2|08:00:00|None|NAME", "ended", "timeout"),
        ("7|CANCELLED by 0|alice|dev|n1|1|2|08:00:00|None|NAME", "ended", "cancelled"),
        ("7|TIMEOUT|bob|dev|n1|1|2|08:00:00|None|NAME", "ended", "forgotten"),
        ("7|TIMEOUT|alice|dev|n1|1|2|08:00:00|None|other", "ended", "forgotten"),
        ("", "ended", "forgotten"),
    ],
)
def test_accounting_tells_why_a_forgotten_job_ended(
    cluster: Cluster, line: str, state: AllocationState, cause: EndCause
) -> None:
    cluster.fake.accounted = {7: f"{line.replace('NAME', NAME)}\n"}
    seen = job(cluster.slurm, 7, NAME)
    assert (seen.state, seen.cause) == (state, cause)


def test_a_job_on_several_nodes_names_each(cluster: Cluster) -> None:
    number = cluster.fake.add(NAME, nodes="cn-c[007,035]")
    seen = job(cluster.slurm, number, NAME)
    assert (seen.nodes, seen.node) == (("cn-c007", "cn-c035"), "cn-c007")


def test_a_node_list_that_nobody_understands_is_no_answer(cluster: Cluster) -> None:
    number = cluster.fake.add(NAME, nodes="cn[x")
    with pytest.raises(SlurmUnreachable, match="makes no sense"):
        job(cluster.slurm, number, NAME)


def test_the_limit_is_kept_to_the_second_however_rarely_slurm_is_asked(cluster: Cluster) -> None:
    began = cluster.fake.fake_clock.clock.monotonic()
    with pytest.raises(AllocationPending, match="after 45s"):
        allocate(REQUEST, cluster.submission(wait_s=45))
    assert cluster.fake.fake_clock.clock.monotonic() - began < 46
