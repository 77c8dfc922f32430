"""Whether the environment that the profile names is on the node."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.model.profile import BackupOptions, EnvironmentOptions, Profile
from scratchflow.node.environment.missing import (
    missing_in_words,
    missing_layer,
    save_command,
    why_a_job_lacks_it,
)


@pytest.mark.parametrize(
    ("layers", "made", "missing"),
    [
        (EnvironmentOptions(), "", ""),
        (EnvironmentOptions(venv="env"), "", "venv"),
        (EnvironmentOptions(venv="env"), "env/bin/activate", ""),
        (EnvironmentOptions(venv="env"), "env/other", "venv"),
        (EnvironmentOptions(conda="./env"), "", "conda"),
        (EnvironmentOptions(conda="./env"), "env/conda-meta", ""),
        (EnvironmentOptions(conda="torch"), "", ""),
        (EnvironmentOptions(venv="~/env"), "", ""),
        (EnvironmentOptions(venv="$HOME/env"), "", ""),
    ],
)
def test_only_a_directory_that_is_known_and_not_there_is_missing(
    tmp_path: Path, layers: EnvironmentOptions, made: str, missing: str
) -> None:
    if made:
        (tmp_path / made).parent.mkdir(parents=True)
        (tmp_path / made).touch()
    assert missing_layer(layers, tmp_path) == missing


@pytest.mark.parametrize(
    ("path", "also", "step"),
    [
        ("env", [], "`scratchflow create --env venv --packages …` makes it again"),
        ("env", ["env"], "`scratchflow restore --path env` brings it"),
        ("work/.venv", [], "`scratchflow restore --path work/.venv` brings it"),
        ("other", [], "make it again there"),
    ],
)
def test_the_next_step_is_one_that_can_bring_it(path: str, also: list[str], step: str) -> None:
    layers = EnvironmentOptions(venv=path)
    profile = Profile(environment=layers, backup=BackupOptions(also=also))
    detail, fix = missing_in_words(profile, "venv", "node-1")
    assert f"`{path}`, which is not on `node-1`" in detail
    assert step in fix
    assert "`scratchflow config unset environment.venv`" in fix


def test_what_backups_take_already_stays_in_the_command() -> None:
    profile = Profile(backup=BackupOptions(also=["my data"]))
    assert (
        save_command(profile, "env") == """scratchflow config set backup.also '["my data","env"]'"""
    )


@pytest.mark.parametrize(
    ("also", "step"),
    [([], "`backup.also` names what"), (["env"], "`scratchflow jobs rerun --current 41` runs it")],
)
def test_a_job_without_it_is_run_again_from_what_has_it(also: list[str], step: str) -> None:
    profile = Profile(backup=BackupOptions(also=also))
    assert step in why_a_job_lacks_it(profile, "./env", "41")
