"""One key of the user's file is changed and nothing else, or nothing at all."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.config.edit import apply_edits, full_key, plan_edits, remove_if_blank
from scratchflow.config.file import write_text
from scratchflow.model.errors.config import (
    ConfigBadValue,
    ConfigNoProfile,
    ConfigUnknownKey,
    ConfigUnwritable,
)
from tests.unit.config.written import CONTRACT_EXAMPLE, apply_edit, load


@pytest.mark.parametrize("kind", ["fifo", "directory", "socket"])
def test_set_replaces_nothing_but_a_regular_file(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    with socket.socket(socket.AF_UNIX) as server:
        if kind == "fifo":
            os.mkfifo(target)
        elif kind == "directory":
            target.mkdir()
        else:
            server.bind(str(target))
        before = target.stat()
        with pytest.raises(ConfigUnwritable, match="not a regular file"):
            apply_edit(target, "profiles.a.login", "x")
        with pytest.raises(ConfigUnwritable, match="not a regular file"):
            write_text(target, "")
    assert (target.stat().st_mode, target.stat().st_ino) == (before.st_mode, before.st_ino)


def test_set_keeps_comments_order_and_everything_else(file: Path) -> None:
    file.write_text(CONTRACT_EXAMPLE)
    apply_edit(file, "profiles.aws.slurm.partition", "gpu")
    changed = file.read_text()
    assert changed == CONTRACT_EXAMPLE.replace('partition = "dev"', 'partition = "gpu"')


def test_set_starts_a_file_and_a_profile(file: Path) -> None:
    apply_edit(file, full_key("login", lambda: "narval"), "narval.example")
    apply_edit(file, "profiles.narval.slurm.gpus", "1")
    apply_edit(file, "profiles.narval.environment.variables.A_B", "x y")
    apply_edit(file, "default_profile", "narval")
    settings = load(file)
    assert settings.name == "narval"
    assert settings.profile.login == "narval.example"
    assert settings.profile.slurm.gpus == 1
    assert settings.profile.environment.variables == {"A_B": "x y"}
    assert file.stat().st_mode & 0o777 == 0o600


def test_set_writes_nothing_that_would_not_load(file: Path) -> None:
    file.write_text("[profiles.a]\n")
    with pytest.raises(ConfigBadValue):
        apply_edit(file, "profiles.a.alias", "two words")
    with pytest.raises(ConfigUnknownKey):
        apply_edit(file, "profiles.a.slrum.time", "1")
    with pytest.raises(ConfigBadValue):
        apply_edit(file, "profiles.a.login", "x\ny")
    for key in ("workspace", "slurm.extra", "environment.variables.A"):
        with pytest.raises(ConfigBadValue, match="not UTF-8"):
            apply_edit(file, f"profiles.a.{key}", "\udcff")
    with pytest.raises(ConfigBadValue, match="not UTF-8"):
        apply_edit(file, "profiles.\udcff.login", "x")
    assert file.read_text() == "[profiles.a]\n"
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("login", ["hpc", "lab", "ada@LAB"])
def test_an_alias_that_is_a_login_host_is_refused(file: Path, login: str) -> None:
    file.write_text(f'[profiles.a]\nlogin = "hpc"\n[profiles.b]\nlogin = "{login}"\n')
    alias = login.rpartition("@")[2].lower()
    with pytest.raises(ConfigBadValue, match="itself"):
        plan_edits(file, {"profiles.a.alias": alias})
    with pytest.raises(ConfigBadValue, match="`compile_machine_c`"):
        plan_edits(file, {"profiles.c.login": login, "profiles.c.alias": alias})
    apply_edit(file, "profiles.a.alias", "local")


def test_a_file_with_such_an_alias_can_be_corrected(file: Path) -> None:
    file.write_text('[profiles.a]\nlogin = "hpc"\nalias = "hpc"\n')
    apply_edit(file, "profiles.a.wait", "5m")
    apply_edit(file, "profiles.a.alias", "gpu")
    assert load(file).profile.alias == "gpu"


def test_set_follows_a_symlink_and_keeps_the_mode(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text("[profiles.a]\n")
    target.chmod(0o640)
    link = tmp_path / "config.toml"
    link.symlink_to(target)
    apply_edit(link, "profiles.a.login", "x")
    assert link.is_symlink()
    assert 'login = "x"' in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_planned_edit_changes_nothing(file: Path) -> None:
    edit = plan_edits(file, {"profiles.a.login": "x"})
    assert 'login = "x"' in edit.after
    assert not file.exists()


@pytest.mark.parametrize("text", ["", "\n", " \n\n"])
def test_a_file_in_which_nothing_is_left_goes_with_its_directory(tmp_path: Path, text: str) -> None:
    file = tmp_path / "scratchflow" / "config.toml"
    write_text(file, text)
    assert remove_if_blank(file)
    assert not file.parent.exists()


def test_a_comment_a_symlink_and_what_lies_beside_stay(tmp_path: Path) -> None:
    file, link, beside = (tmp_path / name for name in ("config.toml", "link", "beside"))
    file.write_text("# mine\n")
    assert not remove_if_blank(file)
    file.write_text("\n")
    link.symlink_to(file)
    assert not remove_if_blank(link)
    beside.touch()
    link.unlink()
    assert remove_if_blank(file)
    assert list(tmp_path.iterdir()) == [beside]


def test_set_in_an_impossible_place_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigUnwritable):
        apply_edit(tmp_path / "file" / "config.toml", "profiles.a.login", "x")


def test_the_default_profile_must_exist(file: Path) -> None:
    file.write_text("[profiles.narval]\n")
    with pytest.raises(ConfigNoProfile, match='did you mean "narval"'):
        apply_edit(file, "default_profile", "narvla")
    assert file.read_text() == "[profiles.narval]\n"
    for name in ("narval", "local", ""):
        apply_edit(file, "default_profile", name)
        assert load(file).name == (name or "narval")


def test_a_profile_and_the_choice_of_it_may_come_together(file: Path) -> None:
    apply_edits(file, {"default_profile": "a", "profiles.a.login": "x"})
    assert load(file).name == "a"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("profiles = 3", "`profiles`"),
        ("[profiles]\na = 3", "`profiles.a`"),
        ("[[profiles.a.slurm]]", "`profiles.a.slurm`"),
    ],
)
def test_set_beneath_what_is_no_table_is_a_clear_error(file: Path, text: str, key: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigBadValue, match="expected a table") as caught:
        apply_edit(file, "profiles.a.slurm.gpus", "1")
    assert key in str(caught.value)
    assert file.read_text() == text


def test_set_reaches_into_a_table_written_on_one_line(file: Path) -> None:
    file.write_text("profiles = {a = {}}\n")
    apply_edit(file, "profiles.a.slurm.gpus", "1")
    assert load(file).profile.slurm.gpus == 1


@pytest.mark.slow
def test_two_writers_at_once_both_get_their_key_in(file: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from scratchflow.config.edit import apply_edits\n"
        "for i in range(10):"
        " apply_edits(Path(sys.argv[1]), {f'profiles.p{sys.argv[2]}-{i}.login': 'x'})"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(file), str(number)])
        for number in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    assert len(load(file, profile="p0-0").profiles) == 40 + 1


def test_a_new_table_between_two_others_is_followed_by_a_blank_line(file: Path) -> None:
    one = '[profiles.one]\nlogin = "a"\nstore = "~/s"\n'
    file.write_text(f'{one}\n[profiles.two]\nlogin = "a"\nstore = "~/s"\n')
    after = plan_edits(file, {"profiles.one.backup.every": "15m"}).after
    assert f'{one}\n[profiles.one.backup]\nevery = "15m"\n\n[profiles.two]\n' in after
    tight = f'{one}[profiles.two]\nlogin = "{{}}"\nstore = "~/s"\n'
    file.write_text(tight.format("a"))
    assert plan_edits(file, {"profiles.two.login": "b"}).after == tight.format("b")
