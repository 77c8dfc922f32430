"""The login host is reached as the profile says, asked once, and given an agent when it has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from scratchflow.agent.delivery import install as installing
from scratchflow.agent.request import decode
from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.model.errors.agent import AgentMissing, RequestRefused
from scratchflow.model.errors.config import NotSetUp
from scratchflow.model.errors.ssh import CommandTimedOut, ConnectionLost
from scratchflow.model.events import Event, Log
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import Where
from scratchflow.reach import login
from scratchflow.reach.login import SharedLogin, ask_agent, reach_login
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.transport.choose import Means
from scratchflow.ssh.transport.openssh import OpenSshTransport
from tests.unit.agent.scripted import (
    ScriptedStream,
    ScriptedTransport,
    failure,
    hello,
    said,
    summary,
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    file = tmp_path / "config.toml"
    file.write_text(
        f'[profiles.p]\nlogin = "aws"\ntransport = "openssh"\nssh_config = "{tmp_path}/ssh"\n'
        '[profiles.p.environment]\nmodules = ["python/3.11"]\n'
    )
    return load_settings(Asked(config=str(file)), {})


class Closing(ScriptedTransport):
    """Counts how often it was closed."""

    all: ClassVar[list[Closing]] = []

    def __init__(self) -> None:
        super().__init__()
        self.closed = 0
        self.all.append(self)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the transport was asked for."""
    calls: list[Any] = []
    Closing.all.clear()

    def open_transport(host: str, means: Means, **options: Any) -> Closing:
        calls.append((host, means, options))
        return Closing()

    monkeypatch.setattr(login, "open_transport", open_transport)
    return calls


def test_the_profiles_transport_and_config_are_used_and_closed_again(
    settings: Settings, opened: list[Any], tmp_path: Path
) -> None:
    events: list[Event] = []
    with reach_login(settings, {"A": "b"}, events.append, may_ask=False) as transport:
        assert isinstance(transport, Closing)
        assert transport.closed == 0
    (tmp_path / "ssh").touch()

    def fail() -> None:
        with reach_login(settings, {}, events.append, may_ask=False):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [transport.closed for transport in Closing.all] == [1, 1]
    (host, means, first), (_, _, second) = opened
    assert (host, means.environment, means.has_terminal) == ("aws", {"A": "b"}, False)
    assert first == {"setting": "openssh", "config": None, "once": False}
    assert second == {"setting": "openssh", "config": tmp_path / "ssh", "once": False}
    assert all(isinstance(event, Log) and event.level == "debug" for event in events)


def test_without_a_terminal_nobody_is_asked_even_if_he_may_be(
    settings: Settings, opened: list[Any]
) -> None:
    with reach_login(settings, {}, lambda _: None, may_ask=True):
        pass
    assert not opened[0][1].has_terminal


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(installing, "install", lambda _, **options: calls.append(options))
    return calls


def test_the_request_carries_the_whole_profile(
    settings: Settings, installed: list[dict[str, Any]]
) -> None:
    far = ScriptedTransport(ScriptedStream(said(hello(), summary(jobs=[]))))
    data = ask_agent(
        far, settings, "jobs open", {"any_profile": True}, lambda _: None, where=Where(7)
    )
    assert data == {"jobs": []}
    ((_, line, held),) = far.asked
    request = decode(line.strip())
    assert (request.do, request.arguments, request.job_id) == (
        "jobs open",
        {"any_profile": True},
        7,
    )
    assert (request.profile_name, request.profile) == ("p", to_plain(settings.profile))
    assert held
    assert installed == []


def test_a_host_without_our_agent_gets_it_and_is_asked_once_more(
    settings: Settings, installed: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "is_set_up", lambda _: True)
    missing = ScriptedStream([], returncode=127, stderr=b"sh: not found")
    far = ScriptedTransport(missing, ScriptedStream(said(hello(), summary(jobs=[]))))
    assert ask_agent(far, settings, "jobs open", {}, lambda _: None) == {"jobs": []}
    assert [call["modules"] for call in installed] == [["python/3.11"]]
    again = ScriptedTransport(*(ScriptedStream([], returncode=127) for _ in range(2)))
    with pytest.raises(AgentMissing):
        ask_agent(again, settings, "jobs open", {}, lambda _: None)


def test_after_setup_remove_no_agent_is_brought_unasked(
    settings: Settings, installed: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "is_set_up", lambda _: False)
    far = ScriptedTransport(ScriptedStream([], returncode=127, stderr=b"sh: not found"))
    with pytest.raises(NotSetUp):
        ask_agent(far, settings, "jobs open", {}, lambda _: None)
    assert installed == []


def test_an_error_over_there_is_not_healed(
    settings: Settings, installed: list[dict[str, Any]]
) -> None:
    far = ScriptedTransport(ScriptedStream(said(hello(), failure(RequestRefused.code))))
    with pytest.raises(RequestRefused):
        ask_agent(far, settings, "jobs open", {}, lambda _: None)
    assert installed == []


def test_a_shared_connection_without_an_answer_counts_as_lost_within_a_third_of_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[float] = []

    def hang(_: Any, argv: list[str], *, timeout_s: float) -> Any:
        limits.append(timeout_s)
        raise CommandTimedOut(host="aws", command=argv[0], seconds=timeout_s)

    monkeypatch.setattr(OpenSshTransport, "run", hang)
    ssh = OpenSshTransport([ResolvedHost("aws", "aws", "u", port=22)], environment={}, shared=False)
    with pytest.raises(ConnectionLost, match="no connection to `aws`: no answer within 20 s") as no:
        SharedLogin(ssh).require_answer()
    assert limits == [20.0]
    assert "`ssh aws` shows more" in no.value.shown_hint
