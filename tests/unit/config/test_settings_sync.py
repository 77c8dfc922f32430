"""The table `[sync]`."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.edit import apply_edits
from scratchflow.config.settings import Asked, Configured, configured, sync_options
from scratchflow.flows.config import get, unset
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.config import ConfigBadValue, ConfigNoProfile, ConfigUnknownKey
from scratchflow.model.profile import SyncOptions

PROFILES = '[profiles.uni]\nlogin = "uni"\n[profiles.aws]\nlogin = "aws"\n'


def _load(file: Path, table: str) -> SyncOptions:
    file.write_text(f"{PROFILES}[sync]\n{table}\n")
    return sync_options(Asked(config=str(file)), {})


def test_it_names_folders_and_profiles(file: Path) -> None:
    options = _load(file, 'profiles = ["uni", "aws"]\nfolders = ["projects", ".config/nvim", "."]')
    assert options.profiles == ["uni", "aws"]
    assert options.folders == ["projects", ".config/nvim", "."]
    assert {".ssh", ".gnupg", ".cache"} <= set(options.leave_out)


@pytest.mark.parametrize("folder", ["/etc", "../x", "a/../b", "", "a//b", "./a", "~/a/", "a\\\\b"])
def test_a_folder_is_a_path_beneath_the_home(file: Path, folder: str) -> None:
    with pytest.raises(ConfigBadValue, match=r"sync\.folders"):
        _load(file, f'folders = ["{folder}"]')


def test_a_profile_is_named_once_and_exists(file: Path) -> None:
    with pytest.raises(ConfigBadValue, match="twice"):
        _load(file, 'profiles = ["uni", "uni"]')
    with pytest.raises(ConfigNoProfile, match="awz"):
        _load(file, 'profiles = ["uni", "awz"]')
    with pytest.raises(ConfigNoProfile, match="mila"):
        _load(file, 'programs = { mila = "~/bin/unison" }')


def test_a_key_that_is_mistyped_is_named(file: Path) -> None:
    with pytest.raises(ConfigUnknownKey, match=r"sync\.folder"):
        _load(file, 'folder = ["a"]')


def test_a_file_without_it_has_nothing_to_sync(file: Path) -> None:
    file.write_text(PROFILES)
    assert sync_options(Asked(config=str(file)), {}) == SyncOptions()


def test_its_keys_are_set_like_any_other(file: Path) -> None:
    file.write_text(PROFILES)
    apply_edits(file, {"sync.profiles": '["uni", "aws"]', "sync.folders": "projects"})
    apply_edits(file, {"sync.programs.aws": "~/bin/unison", "sync.keep_versions": "3"})
    options = sync_options(Asked(config=str(file)), {})
    assert (options.profiles, options.folders) == (["uni", "aws"], ["projects"])
    assert (options.programs, options.keep_versions) == ({"aws": "~/bin/unison"}, 3)
    assert file.read_text().startswith(PROFILES)


def test_a_key_that_would_not_work_is_not_written(file: Path) -> None:
    file.write_text(PROFILES)
    for key, value in {
        "sync.profiles": '["uni", "awz"]',
        "sync.programs.awz": "x",
        "sync.folders": "/etc",
        "sync.nonsense": "x",
    }.items():
        with pytest.raises(ScratchflowError):
            apply_edits(file, {key: value})
    assert file.read_text() == PROFILES


def test_a_key_is_read_with_its_origin(file: Path) -> None:
    file.write_text(f'{PROFILES}[sync]\nfolders = ["p"]\n')
    asked = Asked(config=str(file))
    written, default = (get(asked, {}, f"sync.{key}") for key in ("folders", "keep_versions"))
    assert (written.value, written.origin) == (["p"], str(file))
    assert (default.value, default.origin) == (10, "default")
    with pytest.raises(ConfigUnknownKey, match=r'did you mean "sync\.folders"'):
        get(asked, {}, "sync.folder")
    unset(asked, {}, "sync.folders", dry_run=False)
    assert get(asked, {}, "sync.folders").value == []


@pytest.mark.parametrize(
    ("table", "syncs"),
    [
        ("", False),
        ('[sync]\nprofiles = ["uni", "aws"]\n', False),
        ('[sync]\nprofiles = ["uni"]\nfolders = ["p"]\n', False),
        ('[sync]\nprofiles = ["uni", "aws"]\nfolders = ["p"]\n', True),
    ],
)
def test_how_many_profiles_there_are_and_whether_they_sync(
    file: Path, table: str, syncs: bool
) -> None:
    file.write_text(PROFILES + table)
    assert configured(Asked(config=str(file)), {}) == Configured(profiles=2, syncs=syncs)
