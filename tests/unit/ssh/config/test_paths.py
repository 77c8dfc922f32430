"""Our ssh files lie beside the user's config, wherever that is, and ssh finds them there."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.config import paths
from scratchflow.ssh.config.paths import SshPaths, passwd_home
from tests.unit.ssh.conftest import ssh_view


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home that the password database names, which ssh goes by."""
    monkeypatch.setattr(paths, "passwd_home", lambda: tmp_path / "home")
    return tmp_path / "home"


def test_a_symlinked_config_keeps_our_files_in_its_own_directory(tmp_path: Path) -> None:
    for folder in (".ssh", "dotfiles"):
        (tmp_path / folder).mkdir()
    (tmp_path / "dotfiles/config").touch()
    (tmp_path / ".ssh/config").symlink_to("../dotfiles/config")
    places = SshPaths.of(tmp_path / ".ssh/config")
    assert places.directory == tmp_path / ".ssh/scratchflow.d"
    assert places.backup == tmp_path / ".ssh/config.scratchflow-bak"


def test_a_tilde_is_the_environments_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert SshPaths.of("~/.ssh/config").config == tmp_path / ".ssh/config"
    monkeypatch.chdir(tmp_path)
    assert SshPaths.of("a/../config").config == tmp_path / "config"


def test_the_home_of_the_password_database_is_written_as_a_tilde(home: Path) -> None:
    places = SshPaths(home / ".ssh/config")
    assert places.include_line == 'Include "~/.ssh/scratchflow.d/*.conf"'
    assert places.ssh_options == []
    other = SshPaths(home.parent / "home2/config")
    assert other.include_line == f'Include "{home}2/scratchflow.d/*.conf"'
    assert other.ssh_options == ["-F", f"{home}2/config"]


def test_ssh_reads_what_the_include_line_names(places: SshPaths) -> None:
    places.directory.mkdir()
    places.alias_file("work").write_text("Host work\n  HostName found\n")
    places.config.write_text(f"{places.include_line}\n")
    assert "hostname found\n" in ssh_view(places.config, "work")[1]


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a%hb", "a$b", "a*b", "a\\b"])
def test_a_path_that_ssh_would_change_is_refused(places: SshPaths, name: str) -> None:
    with pytest.raises(SshConfigRefused, match="literally"):
        places.quoted(places.directory / name)


def test_host_keys_are_found_in_lower_case_as_ssh_compares_names(places: SshPaths) -> None:
    assert places.host_keys_file("AWS-Node-1") == places.host_keys_file("aws-node-1")


def test_a_user_whom_nobody_knows_has_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert passwd_home() == Path("/")
