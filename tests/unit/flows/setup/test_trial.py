"""The agent of a set-up that nobody agreed to goes again, however it ended; one that was there stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.agent.delivery.install import Installed
from scratchflow.config.settings import Settings
from scratchflow.flows.setup import trial as module
from scratchflow.flows.setup.trial import agent_on_trial
from scratchflow.model.errors.agent import InstallFailed, LoginShellUnusable
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.events import Event, Warned
from scratchflow.ssh.transport.local import LocalTransport
from tests.unit.flows.told import ToldCluster


class Host:
    """Notes what was asked of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self.told: list[Event] = []
        self.failure: Exception | None = None
        monkeypatch.setattr(module, "install_for", self._install)
        monkeypatch.setattr(module, "end_trial", self._end)

    def _install(self, *_: object, on_trial: bool = False) -> Installed:
        if self.failure:
            raise self.failure
        self.done.append("trial" if on_trial else "keep")
        return Installed("/a", "/p", False, [])

    def _end(self, _: object) -> bool:
        self.done.append("end")
        if self.failure:
            raise self.failure
        return True


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return ToldCluster(tmp_path, {}).settings


def test_what_is_kept_is_not_taken_away(host: Host, settings: Settings) -> None:
    with agent_on_trial(settings, LocalTransport(), host.told.append, "here") as trial:
        trial.keep()
    assert host.done == ["trial", "keep"]


@pytest.mark.parametrize("end", [KeyboardInterrupt, InstallFailed(host="h", reason="r")])
def test_whatever_ends_it_before_takes_it_away(
    host: Host, settings: Settings, end: BaseException
) -> None:
    with (
        pytest.raises((KeyboardInterrupt, InstallFailed)),
        agent_on_trial(settings, LocalTransport(), host.told.append, "here"),
    ):
        raise end
    assert host.done == ["trial", "end"]


def test_an_installation_that_broke_off_is_cleared_away_too(host: Host, settings: Settings) -> None:
    host.failure = ConnectionLost(host="aws", reason="cut")
    with (
        pytest.raises(ConnectionLost),
        agent_on_trial(settings, LocalTransport(), host.told.append, "here"),
    ):
        pass
    assert host.done == ["end"]
    (warning,) = [event for event in host.told if isinstance(event, Warned)]
    assert "`scratchflow setup aws --remove`" in warning.message


def test_where_nothing_could_be_brought_nobody_is_told_that_it_may_be_there(
    host: Host, settings: Settings
) -> None:
    host.failure = LoginShellUnusable(host="aws", reason="it ended with exit code 3")
    with (
        pytest.raises(LoginShellUnusable),
        agent_on_trial(settings, LocalTransport(), host.told.append, "here"),
    ):
        pass
    assert host.done == []
    assert host.told == []
