"""What a command line asks of Slurm, as the login host gets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.node_wanted import NodeRequest
from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.model.errors.config import SchedulerMissing


def of_profile(directory: Path, text: str) -> Settings:
    config = directory / "config.toml"
    config.write_text(f'[profiles.mine]\nstore = "/store"\n{text}\n')
    return load_settings(Asked(config=str(config)), {"HOME": str(directory), "USER": "ann"})


def test_the_profile_says_how_long_to_wait_unless_the_line_does(tmp_path: Path) -> None:
    settings = of_profile(tmp_path, 'login = "login"\nwait = "7m"')
    assert NodeRequest().hold(settings, dry_run=False).wait_s == 420
    assert NodeRequest(wait_s=5).hold(settings, dry_run=False).wait_s == 5
    assert NodeRequest(keep_waiting=True).hold(settings, dry_run=False).wait_s is None


def test_resources_need_a_scheduler(tmp_path: Path) -> None:
    settings = of_profile(tmp_path, 'scheduler = "none"\nscratch = "/scratch"')
    assert NodeRequest().hold(settings, dry_run=True).dry_run
    with pytest.raises(SchedulerMissing):
        NodeRequest(flags=("--gpus 2",)).hold(settings, dry_run=False)
