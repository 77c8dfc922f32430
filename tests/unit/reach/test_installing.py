"""The agent that is brought to a host runs with what the profile says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.agent.delivery import install as delivering
from scratchflow.config.settings import Asked, load_settings
from scratchflow.reach.installing import install_for
from tests.unit.agent.scripted import ScriptedTransport


def test_the_agent_is_brought_with_the_profiles_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[dict[str, Any]] = []
    monkeypatch.setattr(delivering, "install", lambda _, **options: installed.append(options))
    file = tmp_path / "config.toml"
    file.write_text(
        '[profiles.p]\nlogin = "aws"\n[profiles.p.environment]\nmodules = ["python/3.11"]\n'
    )
    settings = load_settings(Asked(config=str(file)), {})
    bare = msgspec.structs.replace(settings.profile.environment, modules=[])
    profile = msgspec.structs.replace(settings.profile, environment=bare)
    for one in (settings, msgspec.structs.replace(settings, profile=profile)):
        install_for(one, ScriptedTransport(), lambda _: None)
    assert [(call["profile_name"], call["modules"]) for call in installed] == [
        ("p", ["python/3.11"]),
        ("p", []),
    ]
