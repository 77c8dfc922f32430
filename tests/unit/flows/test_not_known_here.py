"""A job of a profile that is not in this machine's configuration file is ended without `-p`."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.status_lines import _elsewhere
from scratchflow.flows.not_known_here import with_cancel
from scratchflow.model.results.status import ElsewhereShown
from tests.unit.flows.told import ToldCluster

HELD = ElsewhereShown(profile="y4", job_id=54, state="running", node="node-3")


@pytest.mark.parametrize(
    ("login", "command"), [("ada@hpc", "ssh ada@hpc scancel 54"), ("local", "scancel 54")]
)
def test_it_is_ended_by_its_number(tmp_path: Path, login: str, command: str) -> None:
    settings = ToldCluster(tmp_path, {}, profile=f'login = "{login}"').settings
    (held,) = with_cancel([HELD], settings, {})
    assert held.cancel == command
    assert f"this machine does not have: `{command}` ends it" in _elsewhere(held)


def test_one_of_a_profile_that_is_here_is_left_to_that_profile(tmp_path: Path) -> None:
    settings = ToldCluster(tmp_path, {}).settings
    known = ElsewhereShown(profile="p", job_id=3, state="running", node="node-3")
    waiting = ElsewhereShown(profile="tmux", job_id=None, state="running")
    assert with_cancel([known, waiting], settings, {}) == [known, waiting]
