"""What a command line asks of Slurm, as the login host gets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.node_wanted import NodeRequest
from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.events import Event, Log, State


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


def test_what_is_not_sent_because_a_request_waits_already_is_said_once() -> None:
    said: list[Event] = []
    waiting = State(state="pending", previous=None, job_id=7, resumed=True)
    NodeRequest().saying_if_not_sent(said.append)(waiting)
    ours = NodeRequest(flags=("--gpus 2",), node="3").saying_if_not_sent(said.append)
    ours(State(state="pending", previous=None, job_id=7))
    assert not any(isinstance(event, Log) for event in said)
    for _ in range(2):
        ours(waiting)
    [remark] = [event.message for event in said if isinstance(event, Log)]
    assert remark == (
        "`--gpus 2 --node 3` is not sent to Slurm: job 7 is in the queue already;"
        " `scratchflow clear --pending` withdraws it"
    )
