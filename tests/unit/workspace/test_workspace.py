"""Where a profile's directories are: the same place from wherever we are started."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from scratchflow.model.errors.config import ConfigBadValue
from scratchflow.model.profile import BackupOptions, Profile
from scratchflow.workspace.workspace import expand, find_workspace

ME = {"USER": "me", "HOME": "/home/me"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("/s/$USER", "/s/me"),
        ("/s/${USER}_x/../y", "/s/y"),
        ("~", "/home/me"),
        ("~/s", "/home/me/s"),
        ("$HOME/s", "/home/me/s"),
        ("${HOME}", "/home/me"),
        ("/s/~/x", "/s/~/x"),
    ],
)
def test_user_and_home_are_this_machines(written: str, meant: str) -> None:
    assert expand(written, ME) == Path(meant)


@pytest.mark.parametrize("written", ["$USER/s", "s", "~somebody/s", "$HOME"])
def test_a_path_never_depends_on_the_current_directory(written: str) -> None:
    with pytest.raises(ConfigBadValue, match="not an absolute path"):
        expand(written, {"USER": "me", "HOME": "home/me"})


def test_without_the_variables_the_password_file_is_asked() -> None:
    me = pwd.getpwuid(os.getuid())
    assert expand("~", {}) == Path(me.pw_dir)
    assert expand("/s/$USER", {}) == Path("/s", me.pw_name)


@pytest.fixture
def nobody_knows_us(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.usefixtures("nobody_knows_us")
def test_a_user_that_the_machine_does_not_know_is_a_clear_error() -> None:
    with pytest.raises(ConfigBadValue, match=r"`scratch` .*set USER"):
        find_workspace(Profile(), {"HOME": "/home/me"})
    with pytest.raises(ConfigBadValue, match=r"`store` .*set HOME"):
        expand("~/store", {"USER": "me"})


@pytest.mark.usefixtures("nobody_knows_us")
def test_only_what_a_path_names_has_to_be_known() -> None:
    assert expand("/plain", {}) == Path("/plain")
    assert expand("/s/$USER", {"USER": "me"}) == Path("/s/me")


def test_what_is_saved_besides_may_hold_names_and_stays_beneath_scratch(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    site = {**ME, "SCRATCH": str(tmp_path / "link"), "DATA": "data"}
    also = ["env-$USER", "${SCRATCH}/$DATA", "plain"]
    profile = Profile(scratch="$SCRATCH", backup=BackupOptions(also=also))
    workspace = find_workspace(profile, site)
    assert workspace.scratch == tmp_path / "real"
    assert workspace.roots == ["work", "env-me", "data", "plain"]
    for outside in ("/elsewhere", "../x"):
        with pytest.raises(ConfigBadValue, match="beneath scratch"):
            find_workspace(profile, {**site, "USER": "x", "DATA": outside})


def test_where_the_job_has_its_scratch_is_not_asked_of_this_environment() -> None:
    found = find_workspace(Profile(scratch="$SLURM_TMPDIR"), {}, scratch="/local/7")
    assert found.path == Path("/local/7/work")
