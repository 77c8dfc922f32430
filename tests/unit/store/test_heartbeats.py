"""Signs of life: whose they are, and when silence means death."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.times import iso_time
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.heartbeats import (
    SILENT_S,
    Heartbeat,
    Pulses,
    beat,
    is_alive,
    living,
    log_path,
    read_heartbeats,
)

LIFE = Heartbeat(
    node="node-1",
    job_id=7,
    step_id=0,
    pid=1,
    token="t",  # noqa: S106 - no secret
    every_s=1800,
    phase="waiting",
    time="",
    job_name="name",
)


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path, "work")


def result(seconds_ago: float, **fields: object) -> Heartbeat:
    beaten = iso_time(time.time() - seconds_ago) or ""
    return msgspec.structs.replace(LIFE, time=beaten, **fields)


def test_a_sign_of_life_counts_for_its_own_job_until_it_is_silent(place: StoreDirectory) -> None:
    beat(place, result(SILENT_S - 30))
    assert living(place, "node-1", 7, "name") is not None
    assert living(place, "node-1", 8, "name") is None
    assert living(place, "node-1", 7, "the number again, after Slurm lost its state") is None
    assert living(place, "node-2", 7, "name") is None
    beat(place, result(SILENT_S + 30))
    assert living(place, "node-1", 7, "name") is None
    beat(place, result(0, phase="ended"))
    assert living(place, "node-1", 7, "name") is None


def test_all_nodes_are_told_and_rubbish_is_passed_over(place: StoreDirectory) -> None:
    assert read_heartbeats(place) == []
    beat(place, result(0))
    beat(place, result(0, node="node-2"))
    log_path(place, "node-1").write_text("words")
    (place.directory / "heartbeats" / "node-3.json").write_text("{")
    assert [one.node for one in read_heartbeats(place)] == ["node-1", "node-2"]


def test_a_sign_of_life_from_the_future_says_nothing_at_one_look(place: StoreDirectory) -> None:
    beat(place, result(-5 * 3600))
    assert living(place, "node-1", 7, "name") is None
    assert is_alive(result(-5 * 3600), time.time()) is None
    assert is_alive(result(-30), time.time()) is True
    assert is_alive(result(SILENT_S + 30), time.time()) is False


@pytest.mark.parametrize("skew_s", [-5 * 3600.0, 5 * 3600.0])
def test_who_looks_twice_judges_by_change_and_its_own_clock(skew_s: float) -> None:
    pulses, now_s, clock = Pulses(), time.time(), 100.0
    first = result(skew_s, beats=1)
    assert pulses.is_alive(first, now_s, clock) is (False if skew_s > 0 else None)
    second = msgspec.structs.replace(first, beats=2)
    assert pulses.is_alive(second, now_s, clock + 30) is True
    assert pulses.is_alive(second, now_s, clock + 30 + SILENT_S) is True
    assert pulses.is_alive(second, now_s, clock + 31 + SILENT_S) is False


def test_one_that_never_changes_is_dead_though_its_time_is_to_come() -> None:
    pulses, life = Pulses(), result(-5 * 3600)
    assert pulses.is_alive(life, time.time(), 0.0) is None
    assert pulses.is_alive(life, time.time(), SILENT_S + 1) is False
