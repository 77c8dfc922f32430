"""An environment beneath scratch that no snapshot has is named before the node goes."""

from __future__ import annotations

from typing import Any

import pytest

from scratchflow.flows.environment_left import NEXT_NODE, warn_of_environment
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
    warn_of_environment(profile, said.append, NEXT_NODE)
    assert len(said) == bool(named)
    assert all(isinstance(event, Warned) and named in event.message for event in said)
