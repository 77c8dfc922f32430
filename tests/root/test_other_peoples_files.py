"""Files and directories that belong to another user are refused, not used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.ssh.config.include import plan_install
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.store.directory import find_place, open_place

SOMEBODY_ELSE = 12345


def test_a_store_of_another_user_is_refused(tmp_path: Path) -> None:
    place = open_place(tmp_path / "store", "work")
    os.chown(place.directory, SOMEBODY_ELSE, -1)
    with pytest.raises(StoreUnusable, match="belongs to user 12345"):
        open_place(tmp_path / "store", "work")
    os.chown(place.directory, 0, -1)
    os.chown(tmp_path / "store", SOMEBODY_ELSE, -1)
    with pytest.raises(StoreUnusable, match="belongs to user 12345"):
        find_place(tmp_path / "store", "work")


def test_an_ssh_config_of_another_user_is_left_alone(tmp_path: Path) -> None:
    places = SshPaths(tmp_path / ".ssh" / "config")
    places.config.parent.mkdir(mode=0o700)
    places.config.write_bytes(b"Host a\n")
    os.chown(places.config, SOMEBODY_ELSE, -1)
    with pytest.raises(SshConfigRefused, match="somebody else"):
        plan_install(places)
