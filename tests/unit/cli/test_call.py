"""A command that needs a node says what it does before the node has answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.verbs import parse
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.events import Event, Progress


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("restore --path a", "looking for the snapshot"),
        ("restore --path a --to laptop:x", "looking for the snapshot"),
        ("restore --from-job 7", "looking for the job"),
        ("restore --from-mirror", "looking at the mirror"),
        ("snapshots export x", "looking for the snapshot"),
        ("snapshots export laptop:x", "looking for the snapshot"),
        ("jobs code 7", "looking for the job"),
        ("jobs debug 7", "looking for the job"),
    ],
)
def test_what_it_does_is_told_before_anything_else(tmp_path: Path, line: str, phase: str) -> None:
    told: list[Event] = []
    call = parse([*line.split(), "--config", str(tmp_path / "missing.toml")])
    with pytest.raises(ScratchflowError):
        call.flow(told.append)
    assert told[0] == Progress(phase=phase)
