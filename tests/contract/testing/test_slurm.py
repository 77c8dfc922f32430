"""The fake Slurm keeps the contract that the real one does."""

from __future__ import annotations

import itertools

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.submit import Request, Submission, allocate
from scratchflow.cluster.slurm.wait import Patience
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.profile import SlurmOptions
from scratchflow.testing.salloc import FakeSalloc
from scratchflow.testing.slurm import FakeSlurm
from tests.contract.slurm_contract import SlurmContract


class FakeWorld:
    def __init__(self) -> None:
        self.fake = FakeSlurm()
        self.slurm = Slurm(self.fake, "alice", "login")
        self._tokens = (f"{number:06x}" for number in itertools.count())

    def allocate(
        self,
        profile: str = "aws",
        *,
        wait_s: float = 30,
        keep_waiting: bool = False,
        node: str = "",
        **options: object,
    ) -> RunningAllocation:
        asked = SlurmOptions(**{"time": "5:00", "exclusive": True, **options})  # type: ignore[arg-type]  # whatever a test gives
        request = Request(profile, asked, next(self._tokens), node=node)
        clock = self.fake.fake_clock.clock
        patience = Patience(wait_s, keep_waiting)
        return allocate(
            request, Submission(self.slurm, FakeSalloc(self.fake), patience, clock=clock)
        )

    def now(self) -> float:
        return self.fake.fake_clock.seconds

    def job_by_hand(self, name: str) -> int:
        return self.fake.add(name)

    def scancel(self, job_id: int) -> None:
        self.fake.jobs[job_id].state = "CANCELLED"

    def drain(self, node: str, reason: str) -> None:
        self.fake.nodes[node].state = "IDLE+DRAIN"
        self.fake.nodes[node].reason = reason

    def cancel_while_pending(self, profile: str, node: str) -> None:
        self.job_by_hand("mine")

        def cancel_the_last() -> None:
            self.fake.jobs[self.fake.last_id].state = "CANCELLED"

        self.fake.fake_clock.on_sleep = cancel_the_last
        self.allocate(profile, node=node)

    def stop_controller(self) -> None:
        self.fake.up = False

    def start_controller(self) -> None:
        self.fake.up = True


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()


class TestFakeSlurm(SlurmContract):
    pass
