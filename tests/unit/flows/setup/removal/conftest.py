"""A profile `p` of a cluster, and what is left of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.removal.left_behind import left_behind
from scratchflow.flows.setup.removal.traces import Traces, WorkspaceTrace
from scratchflow.model.profile import Profile
from scratchflow.model.results.setup import LeftBehind
from tests.unit.flows.told import ToldCluster

PROFILE = 'login = "aws"\nstore = "/fsx/ada\'s store/"\nscratch = "/scratch/ada/"\nworkspace = "w"'
STORE = "/fsx/ada's store/"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Where this machine keeps things; none is there yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    kinds = ("CACHE", "DATA", "STATE")
    for kind in kinds:
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / f"my {kind}"))
    return {kind: tmp_path / f"my {kind}" / "scratchflow" for kind in kinds}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return ToldCluster(tmp_path, {}, profile=PROFILE).settings


def found(*workspaces: WorkspaceTrace, entries: tuple[str, ...] = ()) -> Traces:
    return Traces(entries=entries, workspaces=workspaces)


def left(settings: Settings, traces: Traces | None, **others: Profile) -> list[LeftBehind]:
    """All but the program itself."""
    every = left_behind(settings, traces, others)
    return [one for one in every if not one.what.startswith("scratchflow itself")]


def commands(shown: list[LeftBehind]) -> str:
    return "\n".join(one.how for one in shown if "rm -rf" in one.how)
