"""What is on this machine is named when it is there, with the command that removes it."""

from __future__ import annotations

import fcntl
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.removal.left_here import program_left, settings_left
from scratchflow.workspace.lock import LOOP_LOCK
from scratchflow.workspace.notes import write_base
from scratchflow.workspace.workspace import Workspace
from tests.unit.flows.setup.removal.conftest import found, left
from tests.unit.flows.told import ToldCluster


def test_what_is_on_this_machine_is_named_when_it_is_there(
    settings: Settings, places: dict[str, Path]
) -> None:
    for place in places.values():
        (place / "agent").mkdir(parents=True)
    here = left(settings, found())[1:]
    commands = [shlex.split(one.how.strip("`")) for one in here]
    assert commands == [["rm", "-rf", str(places[kind])] for kind in ("DATA", "STATE", "CACHE")]
    (places["DATA"] / "store").mkdir()
    work = left(settings, found())[1]
    assert "snapshots of profile `local`" in work.what
    assert work.how.endswith("gone for good")


def test_what_goes_with_an_agent_on_this_very_machine_is_not_left(
    tmp_path: Path, places: dict[str, Path]
) -> None:
    settings = ToldCluster(tmp_path, {}, profile='login = "local"').settings
    (places["DATA"] / "agent").mkdir(parents=True)
    assert not any(str(places["DATA"]) in one.what for one in left(settings, found()))
    (places["DATA"] / "store").mkdir()
    assert any(str(places["DATA"]) in one.what for one in left(settings, found()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/scratchflow.sh"),
        ("zsh", ".zfunc/_scratchflow"),
        ("fish", ".config/fish/completions/scratchflow.fish"),
    ],
)
def test_what_install_completion_wrote_is_named_and_can_be_removed(
    settings: Settings, tmp_path: Path, shell: str, file: str
) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    argv = [sys.executable, "-m", "scratchflow", "--install-completion", shell]
    subprocess.run(argv, env=environment, check=True, capture_output=True)
    path = tmp_path / "home" / file
    assert path.is_file()
    (one,) = [one for one in left(settings, None) if "'s completion" in one.what]
    assert str(path) in one.what
    subprocess.run(one.how.split("`")[1], shell=True, check=True)  # noqa: S602 - as a person types it
    assert not path.exists()
    if shell == "bash":
        rc = (tmp_path / "home/.bashrc").read_text()
        assert one.how.split("`")[3] in rc.splitlines()


def test_the_copy_of_the_ssh_config_is_named(settings: Settings, tmp_path: Path) -> None:
    config = tmp_path / "my ssh" / "config"
    config.parent.mkdir()
    profile = msgspec.structs.replace(settings.profile, ssh_config=str(config))
    settings = msgspec.structs.replace(settings, profile=profile)
    assert not any("ssh config" in one.what for one in left(settings, found()))
    copy = config.with_name("config.scratchflow-bak")
    copy.write_text("Host mine\n")
    (one,) = [one for one in left(settings, found()) if "ssh config" in one.what]
    assert shlex.split(one.how.strip("`")) == ["rm", str(copy)]


@pytest.mark.parametrize(("make", "command"), [(Path.touch, "rm"), (Path.mkdir, "rmdir")])
def test_what_is_in_the_place_of_the_alias_and_not_ours_is_named(
    settings: Settings, tmp_path: Path, make: Callable[[Path], None], command: str
) -> None:
    profile = msgspec.structs.replace(settings.profile, ssh_config=str(tmp_path / "config"))
    settings = msgspec.structs.replace(settings, profile=profile)
    file = tmp_path / f"scratchflow.d/{profile.alias}.conf"
    file.parent.mkdir()
    make(file)
    (one,) = [one for one in left(settings, found()) if "did not write" in one.what]
    assert one.how == f"`{command} {file}`"


def test_the_auto_backup_of_the_profile_local_is_named_while_it_runs(
    settings: Settings, places: dict[str, Path]
) -> None:
    workspace = Workspace(places["DATA"] / "scratch", "work")
    write_base(workspace, places["DATA"] / "store", "20260101T000000Z-abcdef")
    with (workspace.state / LOOP_LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "`scratchflow -p local clear`" in " ".join(
            one.how for one in left(settings, found())
        )
    assert not any("auto-backup" in one.what for one in left(settings, found()))


def test_a_configuration_file_in_which_more_than_profiles_stays_is_named(
    settings: Settings,
) -> None:
    assert not list(settings_left(settings, []))
    text = settings.path.read_text()
    settings.path.write_text(f"{text}[profiles.q]\nlogin = 'b'\n\n[sync]\nprofiles = []\n")
    (shown,) = settings_left(settings, ["q"])
    assert str(settings.path) in shown.what
    assert shown.how.startswith(f"`rm {settings.path}`, then `rmdir {settings.path.parent}`")


@pytest.mark.parametrize(
    ("environment", "how"),
    [
        ("/h/.local/share/pipx/venvs/scratchflow", "`pipx uninstall scratchflow`"),
        ("/h/.local/share/uv/tools/scratchflow", "`uv tool uninstall scratchflow`"),
        ("/h/my env", "`'/h/my env'/bin/python -m pip uninstall scratchflow`"),
    ],
)
def test_the_program_is_uninstalled_as_it_was_installed(environment: str, how: str) -> None:
    shown = program_left(Path(environment))
    assert shown.what == f"scratchflow itself, in {environment}"
    assert shown.how.startswith(how)
