"""An auto-backup that does not reach its store says so in the home, and takes it back."""

from __future__ import annotations

from pathlib import Path

import msgspec

from scratchflow.store.cut_off import cut_off, forget_cut_off, note_cut_off
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import Heartbeat

LIFE = Heartbeat(
    node="node-1",
    job_id=7,
    step_id=1,
    pid=1,
    token="first",  # noqa: S106 - no secret
    every_s=60,
    phase="waiting",
    time="2026-11-16T10:00:00Z",
)
LATER = msgspec.structs.replace(LIFE, time="2026-11-16T10:00:30Z")


def test_what_it_says_after_its_last_heartbeat_counts(tmp_path: Path) -> None:
    place = StoreDirectory(tmp_path / "store/work")
    note_cut_off(tmp_path, place, LATER, "gone")
    said = cut_off(tmp_path, place, LIFE)
    assert said is not None
    assert said.reason == "gone"
    assert cut_off(tmp_path, place, LATER) is None
    assert cut_off(tmp_path, place, msgspec.structs.replace(LIFE, token="next")) is None  # noqa: S106 - no secret
    assert cut_off(tmp_path, place, msgspec.structs.replace(LIFE, node="node-2")) is None
    assert cut_off(tmp_path, StoreDirectory(tmp_path / "other/work"), LIFE) is None
    forget_cut_off(tmp_path, place, "node-1")
    assert cut_off(tmp_path, place, LIFE) is None


def test_a_home_that_is_away_as_well_is_no_error(tmp_path: Path) -> None:
    (tmp_path / ".local").write_text("no directory")
    place = StoreDirectory(tmp_path / "store/work")
    note_cut_off(tmp_path, place, LATER, "gone")
    forget_cut_off(tmp_path, place, "node-1")
    assert cut_off(tmp_path, place, LIFE) is None
