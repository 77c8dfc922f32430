"""`USR1@120` as people type it."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.batch.early_signal import EarlySignal, early_signal


@pytest.mark.parametrize(
    ("typed", "means"),
    [
        ("USR1@120", EarlySignal("USR1", 120)),
        ("sigterm@60", EarlySignal("TERM", 60)),
        ("USR2", EarlySignal("USR2", 120)),
    ],
)
def test_it_is_a_signal_and_seconds(typed: str, means: EarlySignal) -> None:
    assert early_signal(typed) == means
    assert early_signal(str(means)) == means


@pytest.mark.parametrize(
    "typed", ["", "KILL@60", "USR1@", "USR1@0", "USR1@70000", "@60", "1@60", "USR1 @60", "USR1@2m"]
)
def test_anything_else_is_refused_with_the_form(typed: str) -> None:
    with pytest.raises(ValueError, match="like `USR1@120`"):
        early_signal(typed)
