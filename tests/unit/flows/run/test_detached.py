"""What is left alone can start."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scratchflow.flows.run.detached import _require_program
from scratchflow.flows.run.start import Wanted
from scratchflow.model.errors.run import RunProgramMissing
from scratchflow.model.results.run import RunPlace
from scratchflow.process.far_words import Way


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("pyhton-x", 127),
        ("./none", 127),
        ("/etc/passwd", 126),
        ("/etc", 126),
        ("./there", 0),
        ("sh", 0),
        ("only-sourced", 0),
    ],
)
def test_what_cannot_be_started_is_not_left_alone(tmp_path: Path, program: str, code: int) -> None:
    """In its directory and environment, without touching our input."""
    for name in ("there", "bin/only-sourced"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    sourced = tmp_path / "environment.sh"
    sourced.write_text(f"PATH={tmp_path}/bin:$PATH\n")
    start: Any = SimpleNamespace(
        wanted=Wanted(command=(program, "x")),
        found=SimpleNamespace(node="node-1", argv=[]),
        environment=dict(os.environ),
        way=lambda carrier: Way([], carrier, quotes=False),
        directory=lambda place: place.directory,
    )
    place = RunPlace(directory=str(tmp_path), sourced=str(sourced))
    if not code:
        _require_program(start, place)
        return
    with pytest.raises(RunProgramMissing) as caught:
        _require_program(start, place)
    reason = {126: "not executable", 127: "no such program"}[code]
    assert reason in str(caught.value)
