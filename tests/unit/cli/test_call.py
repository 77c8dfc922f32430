"""A command that needs a node says what it does before the node has answered."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from scratchflow.cli import call as calls
from scratchflow.cli.call import Call, announced_late
from scratchflow.cli.plain import plain_call
from scratchflow.cli.verbs import parse
from scratchflow.dispatch import cluster
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotMissing
from scratchflow.model.events import Emit, Event, Log, Progress
from scratchflow.model.results.base import Result


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("restore --path a", "looking for the snapshot"),
        ("restore --path a --to laptop:x", "looking for the snapshot"),
        ("restore --from-job 7", "looking for the job"),
        ("restore --from-mirror", "looking at the mirror"),
        ("snapshots export x", "looking for the snapshot"),
        ("snapshots export laptop:x", "looking for the snapshot"),
        ("jobs code 7", "looking for the job"),
        ("jobs debug 7", "looking for the job"),
    ],
)
def test_what_it_does_is_told_before_anything_else(tmp_path: Path, line: str, phase: str) -> None:
    told: list[Event] = []
    call = parse([*line.split(), "--config", str(tmp_path / "missing.toml")])
    with pytest.raises(ScratchflowError):
        call.flow(told.append)
    assert told[0] == Progress(phase=phase)


class Told:
    """What was told, and whether anything is told within a while."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.heard = threading.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, Progress):
            self.heard.set()

    def wait(self, limit_s: float = 20) -> bool:
        return self.heard.wait(limit_s)


def test_what_takes_long_gives_a_sign_of_life_though_it_said_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "SILENT_S", 0.01)
    told = Told()

    def slow(emit: Emit) -> Result:
        emit(Log(level="info", message="hello"))
        assert told.wait()
        return Result()

    announced_late("asking", Call("x", slow, lambda _: ()), is_watched=True).flow(told)
    assert told.events == [Log(level="info", message="hello"), Progress(phase="asking")]


def test_what_shows_its_own_progress_or_is_over_needs_no_sign_of_life(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "SILENT_S", 0.05)
    told = Told()

    def telling(emit: Emit) -> Result:
        emit(Progress(phase="mine"))
        return Result()

    announced_late("late", Call("x", telling, lambda _: ()), is_watched=True).flow(told)
    announced_late("late", Call("x", lambda _: Result(), lambda _: ()), is_watched=True).flow(told)
    threading.Event().wait(0.1)
    assert told.events == [Progress(phase="mine")]


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("snapshots list", "looking at snapshots"),
        ("snapshots diff", "looking at snapshots"),
        ("snapshots diff a b", "looking at snapshots"),
        ("snapshots history a", "looking at snapshots"),
        ("backup", "looking for the workspace"),
        ("autobackup on", "asking the cluster"),
        ("status", "asking the cluster"),
    ],
)
def test_a_person_who_waits_for_a_cluster_is_told_for_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, phase: str
) -> None:
    monkeypatch.setattr(calls, "SILENT_S", 0.01)
    told = Told()

    def slow(*_: object, **__: object) -> Result:
        assert told.wait()
        raise SnapshotMissing(wanted="x", next_step="")

    for place in (
        "dispatch.cluster.at_workspace",
        "dispatch.cluster.on_login",
        "flows.status.status",
    ):
        monkeypatch.setattr(f"scratchflow.{place}", slow)
    typed = [*line.split(), "--config", str(tmp_path / "missing.toml")]
    for call in filter(None, (parse(typed), plain_call(typed))):
        told.events.clear()
        told.heard.clear()
        with pytest.raises(SnapshotMissing):
            call.flow(told)
        assert told.events == [Progress(phase=phase)]


def test_programs_get_no_event_that_depends_on_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "SILENT_S", 0.01)
    told = Told()

    def slow(*_: object, **__: object) -> Result:
        assert not told.wait(0.1)
        raise SnapshotMissing(wanted="x", next_step="")

    monkeypatch.setattr(cluster, "at_workspace", slow)
    call = parse(["snapshots", "list", "--json", "--config", str(tmp_path / "missing.toml")])
    with pytest.raises(SnapshotMissing):
        call.flow(told)
    assert told.events == []
