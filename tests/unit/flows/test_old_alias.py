"""The file of an alias goes with the profile's use of it, and stays while another profile uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.config import _changed
from scratchflow.config.settings import Asked, load_settings
from scratchflow.flows import config as flow
from scratchflow.flows.old_alias import alias_of_its_own
from scratchflow.ssh.config.alias import park_alias, point_alias, read_alias
from scratchflow.ssh.config.alias_text import PARKED, AliasTarget
from scratchflow.ssh.config.paths import SshPaths


class Desk:
    """A configuration file and an ssh config beside it."""

    def __init__(self, directory: Path, *profiles: str) -> None:
        self.places = SshPaths.of(directory / "config")
        self.asked = Asked(config=str(directory / "config.toml"), profile="y4")
        tables = [
            f'[profiles.{name}]\nlogin = "login"\nalias = "login"\nssh_config = "{self.places.config}"\n'
            for name in profiles
        ]
        (directory / "config.toml").write_text("".join(tables))

    def set_alias(self, *, dry_run: bool = False) -> list[str]:
        done = flow.change(self.asked, {}, lambda _: None, "alias", "other", dry_run=dry_run)
        return [str(line) for line in _changed(done)]


def test_another_alias_takes_the_old_file_away(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "y4")
    park_alias(desk.places, "login", "y4")
    lines = desk.set_alias(dry_run=True)
    assert any("would remove the ssh alias `login`" in line for line in lines)
    assert read_alias(desk.places, "login") is not None
    assert any("removed the ssh alias `login`" in line for line in desk.set_alias())
    assert read_alias(desk.places, "login") is None


def test_an_alias_that_another_profile_uses_stays(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "y4", "uni")
    park_alias(desk.places, "login", "uni")
    assert not any("ssh alias" in line for line in desk.set_alias())
    assert read_alias(desk.places, "login") is not None
    settings = load_settings(desk.asked, {})
    assert alias_of_its_own(settings, []) is None


def test_an_alias_that_another_profile_uses_leads_no_longer_to_the_node_of_this_one(
    tmp_path: Path,
) -> None:
    """Nobody would park it: this profile has another alias now, and the other one never led it there."""
    desk = Desk(tmp_path, "y4", "uni")
    target = AliasTarget("y4", "node-1", "ada", "hpc")
    point_alias(desk.places, "login", target)
    desk.set_alias(dry_run=True)
    assert read_alias(desk.places, "login") == target
    desk.set_alias()
    assert read_alias(desk.places, "login") == PARKED
    point_alias(desk.places, "login", theirs := AliasTarget("uni", "node-2", "ada", "hpc"))
    desk.set_alias()
    assert read_alias(desk.places, "login") == theirs


@pytest.mark.parametrize("profile", ["y4", "of_another_file"])
def test_what_leads_to_a_node_of_another_profile_stays(tmp_path: Path, profile: str) -> None:
    desk = Desk(tmp_path, "y4")
    point_alias(desk.places, "login", AliasTarget(profile, "node-1", "ada", "hpc"))
    desk.set_alias()
    assert (read_alias(desk.places, "login") is None) == (profile == "y4")
