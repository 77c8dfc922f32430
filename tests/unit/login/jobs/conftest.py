"""A login host with a fake Slurm and the store of a desk."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs import submit as module
from scratchflow.model.events import Event
from scratchflow.testing.slurm import FakeSlurm
from tests.unit.conftest import Desk


class Cluster:
    """What a test of submitted jobs needs."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.desk, self.fake = desk, FakeSlurm()
        self.snapshot = desk.backup().snapshot or ""
        self.said: list[Event] = []
        slurm = Slurm(self.fake, "alice", "login")
        monkeypatch.setattr(LoginHost, "slurm", slurm)
        monkeypatch.setattr(module, "_slurm", lambda _: slurm)
        monkeypatch.setattr(module, "install_for", lambda *_: None)
        monkeypatch.setattr(module, "steps_overlap", lambda _: True)
        settings = desk.context.settings
        options = msgspec.structs.replace(settings.profile.slurm, time="5:00")
        self.profile = msgspec.structs.replace(
            settings.profile, scheduler="slurm", login="local", slurm=options
        )
        self.settings = msgspec.structs.replace(settings, profile=self.profile)

    @property
    def login(self) -> LoginHost:
        environment = {"HOME": str(self.desk.scratch.parent), "PATH": "", "USER": "u"}
        clock = self.fake.fake_clock.clock
        return LoginHost(self.settings, environment, self.said.append, clock)


@pytest.fixture
def cluster(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    desk.write("work/job.sh", "#!/bin/bash -e\n#SBATCH --job-name=mine\n#SBATCH --mem=1G\ntrue\n")
    return Cluster(desk, monkeypatch)
