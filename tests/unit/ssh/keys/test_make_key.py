"""A key is made without harm to one that is there, and the cluster's list of keys is only added to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.keys.key_files import public_line
from scratchflow.ssh.keys.make_key import (
    LOOSE_SCRIPT,
    TIGHTEN_SCRIPT,
    authorize_script,
    loose_paths,
    make_key,
)

KEY = "ssh-ed25519 AAAAC3Nza Ada's laptop $(touch pwned) `x` é"


def sh(home: Path, script: bytes) -> bytes:
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    argv = ["sh", "-s"]
    done = subprocess.run(
        argv, input=script, env=environment, cwd=home, capture_output=True, check=True
    )
    return done.stdout


def test_a_key_is_the_users_alone_and_has_no_passphrase(tmp_path: Path) -> None:
    path = tmp_path / ".ssh/id_ed25519"
    make_key(path)
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    argv = ["ssh-keygen", "-y", "-P", "", "-f", str(path)]
    made = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    line = public_line(path)
    assert line
    assert line.split()[:2] == made.split()[:2]


@pytest.mark.parametrize("name", ["id_ed25519", "id_ed25519.pub"])
def test_neither_half_of_a_key_that_is_there_is_replaced(tmp_path: Path, name: str) -> None:
    """Of a key in an agent or on a token, only the public half lies in a file."""
    (tmp_path / name).write_text("mine")
    with pytest.raises(SshConfigRefused, match="there is a file already") as refused:
        make_key(tmp_path / "id_ed25519")
    assert str(tmp_path / name) in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "id").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SshConfigRefused):
        make_key(tmp_path / "id")
    assert not (tmp_path / "elsewhere").exists()


def test_without_ssh_keygen_the_way_by_hand_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SshConfigRefused, match="ssh-keygen") as refused:
        make_key(tmp_path / "id")
    assert "ssh-keygen -t ed25519" in refused.value.shown_hint


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, f"{KEY}\n"),
        ("", f"{KEY}\n"),
        ("other\n", f"other\n{KEY}\n"),
        ("other", f"other\n{KEY}\n"),
        (f"{KEY}\n", f"{KEY}\n"),
        (KEY, f"{KEY}\n"),
        (f"# {KEY}\n", f"# {KEY}\n{KEY}\n"),
    ],
)
def test_the_key_is_added_once_and_the_others_stay(
    tmp_path: Path, before: str | None, after: str
) -> None:
    file = tmp_path / ".ssh/authorized_keys"
    if before is not None:
        file.parent.mkdir()
        file.write_text(before)
    for _ in range(2):
        sh(tmp_path, authorize_script(KEY))
    assert file.read_text() == after
    assert [path.name for path in tmp_path.iterdir()] == [".ssh"]


def test_what_others_may_write_to_is_found_and_tightened_and_nothing_else(tmp_path: Path) -> None:
    home = tmp_path / "home of ada"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/authorized_keys").touch()
    (home / ".ssh/authorized_keys").chmod(0o646)
    (home / ".ssh").chmod(0o755)
    home.chmod(0o770)
    said = b"Welcome!\n" + sh(home, LOOSE_SCRIPT) + b"bye \xff\n"
    assert loose_paths(said) == [str(home), str(home / ".ssh/authorized_keys")]
    sh(home, TIGHTEN_SCRIPT)
    assert loose_paths(sh(home, LOOSE_SCRIPT)) == []
    modes = [path.stat().st_mode & 0o777 for path in (home, home / ".ssh")]
    assert modes == [0o750, 0o755]


def test_an_account_without_a_key_file_is_tightened_too(tmp_path: Path) -> None:
    tmp_path.chmod(0o722)
    sh(tmp_path, TIGHTEN_SCRIPT)
    assert tmp_path.stat().st_mode & 0o777 == 0o700
