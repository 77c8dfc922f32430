"""Signs of life: whose they are, and when silence means death."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.times import iso_time
from scratchflow.store.heartbeats import (
    SILENT_S,
    Heartbeat,
    beat,
    living,
    log_path,
    read_heartbeats,
)
from scratchflow.store.place import Place, open_place

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
def place(tmp_path: Path) -> Place:
    return open_place(tmp_path, "work")


def told(seconds_ago: float, **fields: object) -> Heartbeat:
    beaten = iso_time(time.time() - seconds_ago) or ""
    return msgspec.structs.replace(LIFE, time=beaten, **fields)


def test_a_sign_of_life_counts_for_its_own_job_until_it_is_silent(place: Place) -> None:
    beat(place, told(SILENT_S - 30))
    assert living(place, "node-1", 7, "name") is not None
    assert living(place, "node-1", 8, "name") is None
    assert living(place, "node-1", 7, "the number again, after Slurm lost its state") is None
    assert living(place, "node-2", 7, "name") is None
    beat(place, told(SILENT_S + 30))
    assert living(place, "node-1", 7, "name") is None
    beat(place, told(0, phase="ended"))
    assert living(place, "node-1", 7, "name") is None


def test_all_nodes_are_told_and_rubbish_is_passed_over(place: Place) -> None:
    assert read_heartbeats(place) == []
    beat(place, told(0))
    beat(place, told(0, node="node-2"))
    log_path(place, "node-1").write_text("words")
    (place.directory / "heartbeats" / "node-3.json").write_text("{")
    assert [one.node for one in read_heartbeats(place)] == ["node-1", "node-2"]
