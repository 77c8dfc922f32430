"""A login host that is its own node: servers are processes of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.login.host import LoginHost
from scratchflow.login.serving.stop import stop_servers
from scratchflow.model.events import Event, Warned
from scratchflow.model.requests import StopServers
from tests.serving import write_program


class Here:
    """The login host, and what it said."""

    def __init__(self, directory: Path, scheduler: str = "none") -> None:
        self.home = directory
        self.said: list[Event] = []
        config = directory / "config.toml"
        config.write_text(
            f'[profiles.test]\nscheduler = "{scheduler}"\nlogin = "local"\n'
            f'scratch = "{directory}/scratch"\nstore = "{directory}/store"\n'
        )
        environment = {"HOME": str(directory), "PATH": "/usr/bin:/bin", "USER": "u"}
        settings = load_settings(Asked(config=str(config)), environment)
        self.host = LoginHost(settings, environment, self.said.append)
        work = directory / "scratch" / "work"
        work.mkdir(parents=True, exist_ok=True)
        write_program(work)

    @property
    def warnings(self) -> list[str]:
        return [event.code for event in self.said if isinstance(event, Warned)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("SLURM_JOB_ID", "SLURMD_NODENAME"):
        monkeypatch.delenv(name, raising=False)
    made = Here(tmp_path)
    yield made
    stop_servers(made.host, StopServers(every=True))
