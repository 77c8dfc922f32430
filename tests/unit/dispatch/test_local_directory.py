"""In the workspace of profile `local`, what is asked for a cluster is not taken for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.dispatch.local_directory import warn_in_local_workspace
from scratchflow.model.events import Event, Warned


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a cluster is set up, and the terminal is in the workspace of `local`."""
    config = tmp_path / ".config/scratchflow/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('default_profile = "uni"\n[profiles.uni]\nlogin = "uni"\n')
    inside = tmp_path / ".local/share/scratchflow/scratch/work/src"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / ".local/share"))
    return tmp_path


def _warned(home: Path, profile: str | None = None, **more: str) -> list[str]:
    events: list[Event] = []
    environment = {"HOME": str(home), "USER": "u", **more}
    asked = Asked(config=str(home / ".config/scratchflow/config.toml"), profile=profile)
    settings = load_settings(asked, environment)
    warn_in_local_workspace(settings, asked, environment, events.append)
    return [one.message for one in events if isinstance(one, Warned)]


def test_there_it_is_said_which_profile_is_meant(home: Path) -> None:
    (message,) = _warned(home)
    assert "of profile `local`, and this is done for profile `uni`" in message
    assert "`scratchflow -p local`" in message


def test_whoever_names_a_profile_knows(home: Path) -> None:
    assert _warned(home, "uni") == []
    assert _warned(home, "local") == []
    assert _warned(home, SCRATCHFLOW_PROFILE="uni") == []


def test_elsewhere_nothing_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert _warned(home) == []
