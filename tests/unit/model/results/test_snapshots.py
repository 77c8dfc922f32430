"""Exit codes say what was found."""

from __future__ import annotations

import pytest

from scratchflow.model.results.snapshots import BadSnapshot, SnapshotsPruned, SnapshotsVerified


def test_damage_found_is_not_success() -> None:
    sound = SnapshotsVerified(checked=2, bad=[])
    damaged = SnapshotsVerified(checked=2, bad=[BadSnapshot(id="b", reason="a bit")])
    newer = SnapshotsVerified(checked=1, bad=[], newer=[BadSnapshot(id="b", reason="too new")])
    assert newer.exit_code() == 31
    assert sound.exit_code() == 0
    assert damaged.exit_code() != 0


@pytest.mark.parametrize(("blocked", "code"), [(None, 0), ("5a77ef cannot be used", 31)])
def test_a_prune_that_could_remove_nothing_has_failed(blocked: str | None, code: int) -> None:
    pruned = SnapshotsPruned(kept={}, removed=[], freed_bytes=0, blocked=blocked, dry_run=False)
    assert pruned.exit_code() == code
