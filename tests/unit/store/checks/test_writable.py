"""Whether the store can be written to: tried without a trace, and said as a backup would say it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from scratchflow.model.errors.store import StoreUnusable
from scratchflow.store.checks import writable
from scratchflow.store.checks.writable import AGAIN_S, WriteTrial, sweep_trials, write_failure
from scratchflow.testing.slurm import FakeClock


def test_a_directory_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    assert write_failure(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_one_that_cannot_is_told_with_what_to_do(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    failed = write_failure(tmp_path)
    tmp_path.chmod(0o700)
    assert isinstance(failed, StoreUnusable)
    assert "Permission denied" in str(failed)
    assert "scratchflow config set store PATH" in failed.shown_hint


def test_looking_again_and_again_tries_it_once_a_minute(tmp_path: Path) -> None:
    fake = FakeClock()
    trial = WriteTrial(fake.clock.monotonic)
    assert trial.failure(tmp_path) is None
    tmp_path.chmod(0o500)
    assert trial.failure(tmp_path) is None
    fake.sleep(AGAIN_S)
    assert trial.failure(tmp_path) is not None
    tmp_path.chmod(0o700)
    assert trial.failure(tmp_path) is not None
    fake.sleep(AGAIN_S)
    assert trial.failure(tmp_path) is None


def test_a_store_that_is_not_there_yet_is_nothing_to_complain_of(tmp_path: Path) -> None:
    assert WriteTrial().failure(tmp_path / "new") is None
    assert not (tmp_path / "new").exists()


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where it was tried."""
    tried: list[Path] = []
    monkeypatch.setattr(writable, "write_failure", tried.append)
    return tried


@pytest.mark.parametrize("evidence", ["20261116T100000Z-aaaaaa.json", "heartbeats/written"])
def test_what_was_written_within_a_minute_needs_no_trial(
    tmp_path: Path, trials: list[Path], evidence: str
) -> None:
    file = tmp_path / evidence
    file.parent.mkdir(exist_ok=True)
    file.touch()
    assert WriteTrial().failure(tmp_path) is None
    assert trials == []
    for age_s in (AGAIN_S, -100.0):  # long ago; by a clock that differs
        os.utime(file, (time.time() - age_s,) * 2)
        WriteTrial().failure(tmp_path)
    assert len(trials) == 2


def test_one_look_after_the_other_tries_it_once(tmp_path: Path, trials: list[Path]) -> None:
    (tmp_path / "heartbeats").mkdir()
    for _ in range(3):
        assert WriteTrial().failure(tmp_path) is None
    assert trials == [tmp_path]


def test_a_store_that_became_read_only_or_full_is_tried_at_once(
    tmp_path: Path, trials: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "20261116T100000Z-aaaaaa.json").touch()
    monkeypatch.setattr(writable, "_ROOM_BYTES", 1 << 62)
    WriteTrial().failure(tmp_path)
    assert trials == [tmp_path]


def test_what_a_killed_trial_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    for name in (".tmp-trial-old", ".tmp-trial-new", ".tmp-other"):
        (tmp_path / name).touch()
        if name != ".tmp-trial-new":
            os.utime(tmp_path / name, (0, 0))
    sweep_trials(tmp_path, time.time())
    assert sorted(path.name for path in tmp_path.iterdir()) == [".tmp-other", ".tmp-trial-new"]


def test_killed_in_the_middle_a_trial_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[Path]] = []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append(list(tmp_path.iterdir())))
    assert write_failure(tmp_path) is None
    assert seen == [[]]
