"""What a person reads of a `hop` that was only asked about."""

from __future__ import annotations

from typing import Any

import pytest

from scratchflow.cli.hop import _shown, _shown_there
from scratchflow.model.results.allocation import Hopped, HoppedTo
from scratchflow.model.wrap import Whole

_STEPS = ["scratchflow backup (job 7 on node-1)", "salloc --no-shell --time=8:00:00", "scancel 7"]


@pytest.mark.parametrize("to", ["", "gpu"])
def test_each_step_of_a_dry_run_has_a_line_of_its_own_that_can_be_copied(to: str) -> None:
    rest: dict[str, Any] = {
        "from_node": "node-1",
        "from_job_id": 7,
        "node": None,
        "job_id": None,
        "end_time": None,
        "snapshot": None,
        "commands": _STEPS,
        "dry_run": True,
    }
    lines = (
        _shown_there(HoppedTo(source="p", to=to, alias=None, **rest))
        if to
        else _shown(Hopped(**rest))
    )
    first, *steps = lines
    assert first == "would run, one after the other:"
    assert steps == [f"  {step}" for step in _STEPS]
    assert all(isinstance(step, Whole) for step in steps)
