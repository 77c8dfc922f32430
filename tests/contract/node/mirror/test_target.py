"""Where the mirror is, and which rclone is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.model.errors.config import ConfigBadValue
from scratchflow.model.errors.transfer import MirrorUnset, RcloneMissing
from scratchflow.node.mirror.target import remote_of


def settings(tmp_path: Path, backup: str) -> Settings:
    config = tmp_path / "config.toml"
    config.write_text(f'[profiles.test]\nworkspace = "a/work"\n[profiles.test.backup]\n{backup}\n')
    return load_settings(Asked(config=str(config)), {})


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_each_workspace_has_a_directory_on_the_mirror(tmp_path: Path) -> None:
    rclone = program(tmp_path / "bin/rclone")
    found = remote_of(settings(tmp_path, 'mirror = "box:"'), {"PATH": str(rclone.parent)})
    assert (found.directory, found.program) == ("box:a/work", str(rclone))


def test_the_program_may_be_named(tmp_path: Path) -> None:
    rclone = program(tmp_path / "mine/rclone")
    chosen = settings(tmp_path, 'mirror = "box:x"\nrclone = "~/mine/rclone"')
    assert remote_of(chosen, {"HOME": str(tmp_path)}).program == str(rclone)
    rclone.unlink()
    with pytest.raises(RcloneMissing, match="no such program"):
        remote_of(chosen, {"HOME": str(tmp_path)})


def test_without_a_mirror_there_is_nothing_to_reach(tmp_path: Path) -> None:
    with pytest.raises(MirrorUnset):
        remote_of(settings(tmp_path, ""), {})


@pytest.mark.parametrize("mirror", ["box", "-v:", "box:a\\nb"])
def test_what_is_no_remote_is_refused(tmp_path: Path, mirror: str) -> None:
    with pytest.raises(ConfigBadValue, match="mirror"):
        settings(tmp_path, f'mirror = "{mirror}"')
