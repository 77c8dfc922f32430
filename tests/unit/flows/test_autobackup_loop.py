"""The loop of the auto-backup, with a backup that takes long."""

from __future__ import annotations

import threading
import time

import pytest

from scratchflow.flows import autobackup_loop
from scratchflow.flows.autobackup_loop import run_autobackup
from scratchflow.flows.wishes import Autobackup
from scratchflow.store.heartbeats import Heartbeat, beat, read_heartbeat
from scratchflow.store.place import open_place

from .conftest import Desk


@pytest.fixture(autouse=True)
def nothing_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the priority nor the stderr of the test's own process."""
    monkeypatch.setattr(autobackup_loop, "_lower_priority", lambda: "")
    monkeypatch.setattr(autobackup_loop, "_write_to_the_log", lambda _: None)


def test_it_beats_while_a_backup_takes_long(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    beats: list[Heartbeat] = []

    def slow(*_: object) -> None:
        while len([life for life in beats if life.phase == "backing up"]) < 4:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(autobackup_loop, "BEAT_S", 0.01)
    monkeypatch.setattr(autobackup_loop, "beat", lambda _, life: beats.append(life))
    monkeypatch.setattr(autobackup_loop, "backup", slow)
    with pytest.raises(KeyboardInterrupt):
        run_autobackup(desk.here, Autobackup(token="t", end_time=time.time()), {})  # noqa: S106 - no secret
    assert threading.active_count() == 1


def test_a_second_one_for_the_same_job_ends_at_once(desk: Desk) -> None:
    place = open_place(desk.here.store, desk.here.workspace.name)
    life = Heartbeat(
        node=desk.here.node,
        job_id=desk.here.job_id,
        step_id=None,
        pid=1,
        token="first",  # noqa: S106 - no secret
        every_s=1,
        phase="waiting",
        time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    with autobackup_loop._only_one(desk.here, place, "") as first:
        assert first
        beat(place, life)
        began = time.monotonic()
        ended = run_autobackup(desk.here, Autobackup(token="second"), {})  # noqa: S106 - no secret
        assert time.monotonic() - began < 5
    assert (ended.reason, ended.backups) == ("another one runs on this node already", 0)
    told = read_heartbeat(place, desk.here.node)
    assert told is not None
    assert told.token == life.token


def test_one_of_a_job_before_is_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    place = open_place(desk.here.store, desk.here.workspace.name)
    before = autobackup_loop._only_one(desk.here, place, "")
    assert before.__enter__()
    monkeypatch.setattr(autobackup_loop, "_LOOK_S", 0.01)
    ends = threading.Timer(0.1, before.__exit__, (None, None, None))
    ends.start()
    with autobackup_loop._only_one(desk.here, place, "") as alone:
        assert alone
