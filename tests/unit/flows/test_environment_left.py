"""An environment beneath scratch that no snapshot has is named before the node goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.environment_left import (
    warn_of_environment,
    warn_of_environment_there,
)
from scratchflow.model.events import Event, Warned
from scratchflow.model.profile import BackupOptions, EnvironmentOptions, Profile


@pytest.mark.parametrize(
    ("layers", "also", "named"),
    [
        ({"venv": "env"}, [], "`environment.venv` is `env`"),
        ({"conda": "./env"}, ["data"], '\'["data","env"]\''),
        ({"venv": "envs/a"}, [], "'[\"envs\"]'"),
        ({"venv": "env"}, ["env"], ""),
        ({"venv": "work/.venv"}, [], ""),
        ({"conda": "./work/env"}, [], ""),
        ({"venv": "workshop"}, [], "'[\"workshop\"]'"),
        ({"venv": "envs/a"}, ["data", "envs/b"], '\'["data","envs"]\''),
        ({"venv": "./envs/a"}, ["envs"], ""),
        ({"conda": "torch"}, [], ""),
        ({"venv": "$HOME/env"}, [], ""),
        ({"venv": "~/env"}, [], ""),
        ({"venv": "/shared/env"}, [], ""),
        ({}, [], ""),
    ],
)
def test_what_the_next_node_is_without_is_named(
    layers: dict[str, Any], also: list[str], named: str
) -> None:
    said: list[Event] = []
    backup = BackupOptions(also=also)
    profile = Profile(environment=EnvironmentOptions(**layers), backup=backup)
    warn_of_environment(profile, said.append)
    assert len(said) == bool(named)
    assert all(isinstance(event, Warned) and named in event.message for event in said)


def said_of(path: str) -> str:
    said: list[Any] = []
    warn_of_environment(Profile(environment=EnvironmentOptions(venv=path)), said.append)
    return str(said[0].message)


def test_before_a_move_it_is_said_what_to_do_after_it() -> None:
    message = said_of("env")
    assert (
        "the next node is without it, and `run` and `serve` fail there. Before the move, "
        in message
    )
    assert "; after it, `scratchflow create --env venv --packages …` makes it again" in message
    assert said_of("other").endswith("; after it, make it again there")


@pytest.mark.parametrize(("also", "count"), [([], 1), (["env"], 0)])
def test_what_the_snapshots_of_one_cluster_lack_for_the_other_is_named(
    also: list[str], count: int
) -> None:
    said: list[Any] = []
    named = Profile(environment=EnvironmentOptions(conda="./env"))
    there = Settings(Path("/c"), True, "b", named, {}, ["a", "b"])
    warn_of_environment_there(there, Profile(backup=BackupOptions(also=also)), said.append)
    assert len(said) == count
    for event in said:
        assert "`environment.conda` of profile `b` is `./env`" in event.message
        assert "After the move, `scratchflow create --env conda" in event.message
