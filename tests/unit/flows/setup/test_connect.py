"""The first connection: tried until it works or the user gives up, and each failure with what helps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.setup import connect as module
from scratchflow.flows.setup.connect import connected
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.ssh import AuthNeeded, ConnectionLost, HostNotFound
from scratchflow.model.events import Checked, Event
from scratchflow.ssh.transport.base import LOGIN_COMMAND
from scratchflow.ssh.transport.local import LocalTransport
from tests.unit.flows.setup.answers import NOBODY, Answers
from tests.unit.flows.told import ToldCluster

PASSWORD = AuthNeeded(host="aws", reason="it wants a password", command=LOGIN_COMMAND)


class Host:
    """A login host that fails in these ways, one after the other, before it lets us in."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *failures: ScratchflowError) -> None:
        self.failures = list(failures)
        self.is_open = False
        self.told: list[Event] = []
        self.offered: list[bool] = []
        monkeypatch.setattr(module, "reach_login", self._reach)
        monkeypatch.setattr(module, "offer_key_login", self._offer)

    @contextmanager
    def _reach(self, *_: object, **__: object) -> Iterator[LocalTransport]:
        if self.failures:
            raise self.failures.pop(0)
        self.is_open = True
        yield LocalTransport()
        self.is_open = False

    def _offer(self, *_: object, wanted: bool) -> None:
        self.offered.append(wanted)

    def connect(self, settings: Settings, asker: Answers, *, offer_key: bool = False) -> None:
        reaching = connected(
            settings,
            {},
            self.told.append,
            asker,
            may_ask=asker.can_ask,
            offer_key=offer_key,
            again="scratchflow setup aws --name uni",
        )
        with reaching:
            assert self.is_open
        assert not self.is_open

    @property
    def checks(self) -> list[bool]:
        return [event.ok for event in self.told if isinstance(event, Checked)]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "ssh").mkdir()
    (tmp_path / "ssh/config").write_text("Host aws awsome\n  User ada\nHost lab\n")
    return ToldCluster(tmp_path, {}).settings


def test_a_host_that_lets_us_in_is_told_with_the_account(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(monkeypatch)
    host.connect(settings, NOBODY)
    (check,) = [event for event in host.told if isinstance(event, Checked)]
    assert check.detail == "connected to `aws` as ada"
    assert host.offered == []


def test_a_person_may_try_again_and_each_try_is_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(monkeypatch, PASSWORD, PASSWORD)
    host.connect(settings, Answers(True, True))
    assert host.checks == [False, False, True]
    assert host.offered == [False]


def test_who_gives_up_gets_what_the_host_said(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(monkeypatch, PASSWORD)
    with pytest.raises(AuthNeeded, match="it wants a password"):
        host.connect(settings, Answers(False))


def test_where_nobody_can_be_asked_the_hint_is_a_command_that_exists_already(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no profile yet that `status` could use."""
    with pytest.raises(AuthNeeded) as refused:
        Host(monkeypatch, PASSWORD).connect(settings, NOBODY)
    assert "`scratchflow setup aws --name uni`" in refused.value.shown_hint
    other = AuthNeeded(host="aws", reason="r", command="ssh-add")
    with pytest.raises(AuthNeeded) as refused:
        Host(monkeypatch, other).connect(settings, NOBODY)
    assert "`ssh-add`" in refused.value.shown_hint


@pytest.mark.parametrize(("login", "guess"), [("awss", "`aws`"), ("me@lap", "`lab`")])
def test_a_mistyped_host_is_recognised(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, login: str, guess: str
) -> None:
    assert settings.profile.login == "aws"
    typed = ToldCluster(tmp_path, {}, profile=f'login = "{login}"').settings
    missing = HostNotFound(host=login, suggestion="", remedy="")
    with pytest.raises(HostNotFound) as refused:
        Host(monkeypatch, missing).connect(typed, NOBODY)
    assert f"did you mean {guess}?" in str(refused.value)
    assert "aws, awsome, lab" in refused.value.shown_hint


def test_without_a_single_known_host_the_form_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ToldCluster(tmp_path, {}).settings
    missing = HostNotFound(host="aws", suggestion="", remedy="")
    with pytest.raises(HostNotFound) as refused:
        Host(monkeypatch, missing).connect(settings, NOBODY)
    assert "did you mean" not in str(refused.value)
    assert "me@login.cluster.example" in refused.value.shown_hint


def test_other_failures_are_told_as_they_are(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: Any = ConnectionLost(host="aws", reason="no route")
    with pytest.raises(ConnectionLost, match="no route"):
        Host(monkeypatch, lost).connect(settings, Answers())


def test_on_the_login_host_itself_no_key_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ToldCluster(tmp_path, {}, profile='login = "local"').settings
    host = Host(monkeypatch)
    host.connect(settings, Answers(), offer_key=True)
    assert host.offered == []
