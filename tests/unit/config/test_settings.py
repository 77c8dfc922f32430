"""The configuration: what loads, what is refused and how, and which value wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.keys import profile_keys
from scratchflow.config.settings import Asked, load_settings
from scratchflow.model.errors.config import ConfigNoProfile, ConfigProfileNeeded
from scratchflow.model.units import Duration
from tests.unit.config.written import CONTRACT_EXAMPLE, load


def test_the_contracts_example_loads_and_leaves_cluster_paths_alone(file: Path) -> None:
    settings = load(file, CONTRACT_EXAMPLE)
    assert settings.name == "aws"
    assert settings.profile.scratch == "/scratch/$USER"
    assert settings.profile.backup.every == Duration(1800)
    assert settings.profile.slurm.extra == ["--oversubscribe"]
    assert settings.profile.environment.variables == {"CCACHE_DIR": "/tmp/ccache"}


def test_the_contracts_example_names_every_key(file: Path) -> None:
    load(file, CONTRACT_EXAMPLE)
    missing = [
        key for key in profile_keys() if f"{key.rpartition('.')[2]} = " not in CONTRACT_EXAMPLE
    ]
    assert missing == []


def test_without_a_file_the_built_in_profile_works_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    settings = load_settings(Asked(), {})
    assert not settings.exists
    assert settings.path == tmp_path / "config" / "scratchflow" / "config.toml"
    assert settings.name == "local"
    assert settings.profile.scheduler == "none"
    assert settings.profile.login == "local"
    assert settings.profile.scratch == str(tmp_path / "data" / "scratchflow" / "scratch")
    assert settings.profile.store == str(tmp_path / "data" / "scratchflow" / "store")


def test_flag_beats_environment_beats_file(file: Path) -> None:
    file.write_text('default_profile = "a"\n[profiles.a]\n[profiles.b]\n[profiles.c]\n')
    asked = Asked(config=str(file))
    assert load_settings(asked, {}).name == "a"
    assert load_settings(asked, {"SCRATCHFLOW_PROFILE": "b"}).name == "b"
    flag = Asked(config=str(file), profile="c")
    assert load_settings(flag, {"SCRATCHFLOW_PROFILE": "b"}).name == "c"
    assert load_settings(Asked(), {"SCRATCHFLOW_CONFIG": str(file)}).name == "a"


def test_each_value_knows_its_origin(file: Path) -> None:
    settings = load(
        file, "[profiles.a.slurm]\npartition = 'dev'\ngpus = 1", overrides=["slurm.gpus=4"]
    )
    assert settings.profile.slurm.gpus == 4
    assert settings.origins["slurm.gpus"] == "--set"
    assert settings.origins["slurm.partition"] == str(file)
    assert settings.origins["slurm.nodes"] == "default"


def test_a_mistyped_profile_gets_a_did_you_mean(file: Path) -> None:
    file.write_text("[profiles.narval]\n[profiles.beluga]")
    with pytest.raises(ConfigNoProfile, match='did you mean "narval"'):
        load(file, profile="narvla")


def test_several_profiles_without_a_default_ask_for_one(file: Path) -> None:
    file.write_text("[profiles.a]\n[profiles.b]")
    with pytest.raises(ConfigProfileNeeded):
        load(file)
