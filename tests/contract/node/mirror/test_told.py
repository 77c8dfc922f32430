"""A mirror that is away, read-only or full is told by `status` and `doctor`; backups go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scratchflow.model.errors.transfer import MirrorFailed
from tests.contract.node.mirror.conftest import desk_with, mirror
from tests.mirrors import Server
from tests.unit.conftest import Desk

# Each starts rclone several times.


def answer(desk: Desk, *words: str) -> dict[str, Any]:
    """The result of a command, as the program gives it."""
    config = desk.scratch.parent / "config.toml"
    done = subprocess.run(
        [sys.executable, "-m", "scratchflow", "--config", config, "--json", *words],
        env={**os.environ, "HOME": str(desk.scratch.parent)},
        capture_output=True,
        check=False,
    )
    data: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])["data"]
    return data


def test_a_mirror_that_is_away_is_told_with_rclones_words(server: Server, tmp_path: Path) -> None:
    desk = desk_with(server, tmp_path / "desk")
    desk.backup()
    mirror(desk)
    assert answer(desk, "status")["mirror"]["missing"] == 0
    server.kill()
    checks = {one["name"]: one for one in answer(desk, "doctor")["checks"]}
    assert not checks["mirror"]["ok"]
    assert "connection refused" in checks["mirror"]["detail"]
    desk.write("work/README", "changed")
    desk.backup()
    with pytest.raises(MirrorFailed):
        mirror(desk)
    status = answer(desk, "status")
    (problem,) = [one for one in status["problems"] if one["name"] == "mirror.behind"]
    assert status["mirror"]["missing"] == 1
    assert "connection refused" in problem["detail"]
    server.start()
    mirror(desk)
    assert answer(desk, "status")["mirror"]["missing"] == 0
    checks = {one["name"]: one for one in answer(desk, "doctor")["checks"]}
    assert checks["mirror"]["ok"]
