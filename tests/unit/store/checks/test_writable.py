"""Whether the store can be written to: tried without a trace, and said as a backup would say it."""

from __future__ import annotations

from pathlib import Path

from scratchflow.model.errors import StoreUnusable
from scratchflow.store.checks.writable import AGAIN_S, WriteTrial, write_failure
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
