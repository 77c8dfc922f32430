"""All clusters are asked at once, and one that fails or is silent is told and holds up nobody."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller
from scratchflow.dispatch.every_profile import (
    TIDY_S,
    Answers,
    on_every_profile,
    snapshots_of_all,
)
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.events import Emit, Event, Log, Progress, Warned
from scratchflow.model.results.base import OnProfiles, VersionShown
from scratchflow.process.child import end_child, start_child

FILE = """
[profiles.uni]
login = "login.uni.example"
[profiles.lab]
login = "me@lab"
[profiles.cloud]
login = "head"
"""
LOST = ConnectionLost(host="me@lab", reason="timed out")


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    file = tmp_path / "config.toml"
    file.write_text(FILE)
    return Caller(asked=Asked(config=str(file)), environment={"HOME": str(tmp_path)}, may_ask=True)


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """What a silent cluster waits for, until the test is over."""
    event = threading.Event()
    yield event
    event.set()


class Clusters:
    """Answers by profile: with its name, or with what a test has put in its place."""

    def __init__(self, **instead: BaseException | threading.Event) -> None:
        self.told: list[Event] = []
        self._instead = instead
        self.ended = threading.Event()

    def ask(self, caller: Caller, emit: Emit) -> VersionShown:
        name = caller.settings().name
        assert not caller.may_ask
        emit(Progress(phase="look"))
        emit(Log(level="info", message="well"))
        instead = self._instead.get(name)
        if isinstance(instead, threading.Event):
            instead.wait()
            emit(Warned(code="x", message="late"))
            self.ended.set()
        elif instead is not None:
            raise instead
        return VersionShown(version=name)

    def all(self, caller: Caller, wait_s: float = 60) -> Answers[VersionShown]:
        return on_every_profile(caller, self.told.append, self.ask, command="status", wait_s=wait_s)


def test_all_answer_in_the_order_of_the_file_and_say_who_speaks(caller: Caller) -> None:
    clusters = Clusters()
    found = clusters.all(caller)
    assert list(found.answers) == ["uni", "lab", "cloud"]
    assert found.failed == []
    assert found.logins["lab"] == "me@lab"
    said = sorted(one.message for one in clusters.told if isinstance(one, Log))
    assert said == ["cloud: well", "lab: well", "uni: well"]
    phases = [one.phase for one in clusters.told if isinstance(one, Progress)]
    assert phases[0] == "asking uni, lab, cloud"
    assert "look" not in phases


def test_they_are_asked_at_the_same_time(caller: Caller) -> None:
    """Each waits for the other two: one after the other, they would wait for ever."""
    together = threading.Barrier(3, timeout=60)

    def ask(alone: Caller, _: Emit) -> VersionShown:
        together.wait()
        return VersionShown(version=alone.settings().name)

    found = on_every_profile(caller, lambda _: None, ask, command="status")
    assert len(found.answers) == 3


def test_one_that_fails_is_told_with_its_code_and_the_others_are_there(caller: Caller) -> None:
    slurm = SlurmUnreachable(host="head", reason="away")
    found = Clusters(lab=LOST, cloud=slurm).all(caller)
    assert list(found.answers) == ["uni"]
    assert [(one.profile, one.code, one.exit_code) for one in found.failed] == [
        ("lab", "connection.lost", 14),
        ("cloud", "slurm.unreachable", 20),
    ]
    assert "timed out" in found.failed[0].message
    assert OnProfiles(failed=found.failed).exit_code() == 14
    assert OnProfiles().exit_code() == 0


@pytest.mark.slow
def test_one_that_is_silent_is_given_up_and_says_nothing_later(
    caller: Caller, never: threading.Event
) -> None:
    clusters = Clusters(uni=never)
    found = clusters.all(caller, wait_s=0.3)
    (silent,) = found.failed
    assert (silent.profile, silent.code, silent.exit_code) == ("uni", "profile.silent", 14)
    assert "`scratchflow -p uni status`" in silent.hint
    assert "uni" not in found.answers
    never.set()
    assert clusters.ended.wait(60)
    assert not [one for one in clusters.told if isinstance(one, Warned)]


@pytest.mark.slow
def test_the_process_that_a_silent_one_waits_for_is_ended(caller: Caller) -> None:
    started = []

    def ask(alone: Caller, _: Emit) -> VersionShown:
        name = alone.settings().name
        if name == "lab":
            started.append(start_child(["sleep", "600"], None, has_stdin=False))
            started[0].wait()
            end_child(started[0])
        return VersionShown(version=name)

    found = on_every_profile(caller, lambda _: None, ask, command="status", wait_s=1)
    assert "profile.silent" in [one.code for one in found.failed]
    assert [one.returncode for one in started] == [-signal.SIGTERM]


@pytest.mark.slow
def test_a_process_that_does_not_end_when_it_is_asked_to_is_killed(caller: Caller) -> None:
    started = []
    stubborn = "trap '' TERM; echo; while :; do sleep 1; done"

    def ask(alone: Caller, _: Emit) -> VersionShown:
        name = alone.settings().name
        if name == "lab":
            started.append(start_child(["sh", "-c", stubborn], None, has_stdin=False))
            started[0].wait()
        return VersionShown(version=name)

    on_every_profile(caller, lambda _: None, ask, command="status", wait_s=1)
    assert started[0].wait(60) == -signal.SIGKILL
    end_child(started[0])


@pytest.mark.slow
def test_giving_up_on_several_takes_no_longer_than_on_one(
    caller: Caller, never: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: list[float] = []
    now_s = 0.0
    real = threading.Thread.join

    def join(thread: threading.Thread, timeout: float | None = None) -> None:
        """As if nobody ended before its time."""
        nonlocal now_s
        real(thread, 0)
        joined.append(timeout or 0.0)
        now_s += timeout or 0.0

    class Time:
        monotonic = staticmethod(lambda: now_s)

    monkeypatch.setattr(threading.Thread, "join", join)
    monkeypatch.setattr("scratchflow.dispatch.every_profile.time", Time)
    Clusters(uni=never, lab=never, cloud=never).all(caller, wait_s=0.1)
    assert sum(joined) <= TIDY_S


def test_a_bug_is_a_bug(caller: Caller) -> None:
    with pytest.raises(ZeroDivisionError):
        Clusters(lab=ZeroDivisionError()).all(caller)


def test_without_a_file_it_is_this_machine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    caller = Caller(asked=Asked(), environment={"HOME": str(tmp_path)})
    found = snapshots_of_all(caller, lambda _: None)
    assert [(one.profile, one.snapshots) for one in found.profiles] == [("local", [])]
