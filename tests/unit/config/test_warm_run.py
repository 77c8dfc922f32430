"""The way that an earlier `run` found is used only where everything is as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.config.warm_run import WarmRun, forget_warm_run, read_warm_run, write_warm_run


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "PATH": "/bin"}


@pytest.fixture
def warm(tmp_path: Path) -> WarmRun:
    config, shared = tmp_path / "config.toml", tmp_path / "socket"
    config.write_text("a")
    shared.touch()
    return WarmRun(
        config=str(config),
        shared=str(shared),
        node="node-1",
        job_id="7",
        directory="/scratch/é\udcff",
        sourced="",
        current="/home/é/.local/share/current/p",
        outer=["ssh", "--", "login"],
        carrier=["srun", "--jobid=7"],
        quotes=True,
    )


def test_what_was_noted_is_read_again(warm: WarmRun, environment: dict[str, str]) -> None:
    write_warm_run(warm, environment)
    found = read_warm_run(environment)
    assert found is not None
    assert vars(found) == vars(warm)
    file = Path(environment["XDG_STATE_HOME"], "scratchflow", "run-way")
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("change", ["config", "profile", "shared", "cut", "gone"])
def test_whatever_has_changed_makes_it_useless(
    warm: WarmRun, environment: dict[str, str], change: str
) -> None:
    write_warm_run(warm, environment)
    file = Path(environment["XDG_STATE_HOME"], "scratchflow", "run-way")
    if change == "config":
        Path(warm.config).write_text("other")
    elif change == "profile":
        environment["SCRATCHFLOW_PROFILE"] = "other"
    elif change == "shared":
        os.unlink(warm.shared)
    elif change == "cut":
        file.write_bytes(file.read_bytes()[:-9])
    else:
        forget_warm_run(environment)
    assert read_warm_run(environment) is None


def test_a_disk_that_cannot_be_written_costs_nothing_else(
    warm: WarmRun, environment: dict[str, str]
) -> None:
    Path(environment["XDG_STATE_HOME"]).write_text("no directory")
    write_warm_run(warm, environment)
    forget_warm_run(environment)
    assert read_warm_run(environment) is None
    assert read_warm_run({}) is None


def test_whatever_lies_in_its_place_is_passed_over_and_nothing_is_left(
    warm: WarmRun, environment: dict[str, str]
) -> None:
    place = Path(environment["XDG_STATE_HOME"], "scratchflow", "run-way")
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    assert read_warm_run(environment) is None
    place.unlink()
    place.mkdir()
    write_warm_run(warm, environment)
    assert read_warm_run(environment) is None
    assert list(place.parent.iterdir()) == [place]
