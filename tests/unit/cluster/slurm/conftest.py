"""A fake Slurm with a request under way, for states that a real cluster cannot be brought into at will."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.jobs import our_jobs
from scratchflow.cluster.slurm.submit import Request, Submission
from scratchflow.cluster.slurm.wait import Patience
from scratchflow.model.allocation import Allocation
from scratchflow.model.profile import SlurmOptions
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
