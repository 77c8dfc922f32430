"""Exit codes say what was found."""

from __future__ import annotations

from scratchflow.model.results.snapshots import BadSnapshot, SnapshotsVerified


def test_damage_found_is_not_success() -> None:
    sound = SnapshotsVerified(checked=2, bad=[])
    damaged = SnapshotsVerified(checked=2, bad=[BadSnapshot(id="b", reason="a bit")])
    assert sound.exit_code() == 0
    assert damaged.exit_code() != 0
