"""The user's ssh config: touched once, byte-exact elsewhere, given back whole, or left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.config import user_file
from scratchflow.ssh.config.include import (
    BEGIN,
    END,
    apply,
    comes_first,
    is_installed,
    plan_install,
    plan_remove,
)
from scratchflow.ssh.config.paths import SshPaths
from tests.unit.ssh.conftest import ssh_view


def install(places: SshPaths) -> None:
    apply(plan_install(places))


def remove(places: SshPaths) -> None:
    apply(plan_remove(places))


def test_planning_changes_nothing_and_the_diff_shows_three_lines(places: SshPaths) -> None:
    places.config.write_bytes(b"Host a\n  User \x1b[2Jb\n")
    diff = plan_install(places).diff
    assert places.config.read_bytes() == b"Host a\n  User \x1b[2Jb\n"
    assert len([line for line in diff.splitlines() if line.startswith("+")]) == 4
    assert places.include_line in diff
    assert "\x1b" not in diff
    assert list(places.config.parent.iterdir()) == [places.config]


def test_the_block_is_at_byte_0_and_installing_twice_changes_nothing(places: SshPaths) -> None:
    places.config.write_bytes(b"Host a\n  User b")
    install(places)
    once = places.config.read_bytes()
    assert once.startswith(BEGIN)
    assert once.endswith(END + b"\nHost a\n  User b")
    assert is_installed(places)
    install(places)
    assert places.config.read_bytes() == once
    assert plan_install(places).diff == ""


def test_the_block_has_the_files_line_ends(places: SshPaths) -> None:
    places.config.write_bytes(b"Host a\r\n  User b\r\n")
    install(places)
    assert places.config.read_bytes().count(b"\r\n") == 5
    assert places.config.read_bytes().count(b"\n") == 5


def test_a_byte_order_mark_stays_first(places: SshPaths) -> None:
    places.config.write_bytes(b"\xef\xbb\xbfHost a\n")
    install(places)
    assert places.config.read_bytes().startswith(b"\xef\xbb\xbf" + BEGIN)
    assert is_installed(places)
    remove(places)
    assert places.config.read_bytes() == b"\xef\xbb\xbfHost a\n"


def test_a_file_that_we_made_goes_and_an_empty_one_that_was_there_stays(places: SshPaths) -> None:
    install(places)
    assert stat.S_IMODE(places.config.stat().st_mode) == 0o600
    remove(places)
    assert not places.config.exists()
    places.config.touch(mode=0o600)
    install(places)
    remove(places)
    assert places.config.read_bytes() == b""


def test_edits_made_meanwhile_survive_the_removal(places: SshPaths) -> None:
    install(places)
    places.config.write_bytes(b"# mine\n" + places.config.read_bytes() + b"Host later")
    remove(places)
    assert places.config.read_bytes() == b"# mine\nHost later"


def test_a_block_below_a_host_is_brought_back_to_the_top(places: SshPaths) -> None:
    places.config.write_bytes(b"Host a\n  User b\n")
    install(places)
    block = places.config.read_bytes().removesuffix(b"Host a\n  User b\n")
    places.config.write_bytes(b"Host a\n  User b\n" + block)
    assert not is_installed(places)
    install(places)
    assert places.config.read_bytes() == block + b"Host a\n  User b\n"


def test_comments_above_the_block_do_no_harm(places: SshPaths) -> None:
    install(places)
    places.config.write_bytes(b"# top\n\n" + places.config.read_bytes())
    assert is_installed(places)


def test_a_missing_directory_is_made_for_us_alone(tmp_path: Path, any_umask: int) -> None:
    places = SshPaths(tmp_path / "fresh" / "config")
    install(places)
    assert stat.S_IMODE(places.config.parent.stat().st_mode) == 0o700 & ~any_umask
    assert stat.S_IMODE(places.config.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o755])
def test_the_mode_stays(places: SshPaths, mode: int) -> None:
    places.config.write_bytes(b"Host a\n")
    places.config.chmod(mode)
    install(places)
    assert stat.S_IMODE(places.config.stat().st_mode) == mode
    assert stat.S_IMODE(places.backup.stat().st_mode) == 0o600


def test_a_symlink_stays_and_its_target_changes(places: SshPaths, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.write_bytes(b"Host a\n")
    places.config.symlink_to("../dotfiles")
    install(places)
    assert os.readlink(places.config) == "../dotfiles"
    assert real.read_bytes().startswith(BEGIN)
    assert places.backup.read_bytes() == b"Host a\n"
    remove(places)
    assert real.read_bytes() == b"Host a\n"
    assert places.config.is_symlink()


def test_the_backup_is_taken_once(places: SshPaths) -> None:
    places.config.write_bytes(b"first\n")
    install(places)
    remove(places)
    places.config.write_bytes(b"second\n")
    install(places)
    assert places.backup.read_bytes() == b"first\n"
    remove(places)
    user_file.drop_needless_backup(places)
    assert places.backup.exists()
    places.config.write_bytes(b"first\n")
    user_file.drop_needless_backup(places)
    assert not places.backup.exists()


def broken_begin(config: Path) -> None:
    config.write_bytes(BEGIN + b"\nHost mine\n")


def broken_end(config: Path) -> None:
    config.write_bytes(b"Host mine\n" + END + b"\n")


def two_blocks(config: Path) -> None:
    block = BEGIN + b'\nInclude "/x/scratchflow.d/*.conf"\n' + END + b"\n"
    config.write_bytes(block + b"Host mine\n" + block)


def wrong_order(config: Path) -> None:
    config.write_bytes(END + b"\nHost mine\n" + BEGIN + b"\n")


def something_inside(config: Path) -> None:
    block = BEGIN + b'\nInclude "/x/scratchflow.d/*.conf"\nHost mine\n' + END + b"\n"
    config.write_bytes(block)


def directory(config: Path) -> None:
    config.mkdir()


def pipe(config: Path) -> None:
    os.mkfifo(config)


def loop(config: Path) -> None:
    config.symlink_to(config.name)


def under_a_file(config: Path) -> None:
    config.parent.rmdir()
    config.parent.write_bytes(b"")


@pytest.mark.parametrize(
    "spoil",
    [
        broken_begin,
        broken_end,
        two_blocks,
        wrong_order,
        something_inside,
        directory,
        pipe,
        loop,
        under_a_file,
    ],
    ids=lambda spoil: spoil.__name__,
)
def test_what_cannot_be_edited_safely_is_left_alone(places: SshPaths, spoil: object) -> None:
    assert callable(spoil)
    spoil(places.config)
    before = places.config.read_bytes() if places.config.is_file() else None
    for plan in (plan_install, plan_remove):
        with pytest.raises(SshConfigRefused) as caught:
            plan(places)
        assert caught.value.shown_hint
    assert before is None or places.config.read_bytes() == before


def read_only(config: Path) -> None:
    config.chmod(0o444)


def hard_linked(config: Path) -> None:
    os.link(config, config.with_name("other"))


@pytest.mark.parametrize("spoil", [read_only, hard_linked], ids=lambda spoil: spoil.__name__)
def test_a_managed_file_is_left_alone_and_the_line_to_add_is_said(
    places: SshPaths, spoil: object
) -> None:
    places.config.write_bytes(b"Host a\n")
    assert callable(spoil)
    spoil(places.config)
    with pytest.raises(SshConfigRefused) as caught:
        plan_install(places)
    assert places.include_line in caught.value.shown_hint
    assert places.config.read_bytes() == b"Host a\n"


def test_the_line_added_by_hand_is_enough_in_a_read_only_file(places: SshPaths) -> None:
    install(places)
    places.config.chmod(0o444)
    assert is_installed(places)


@pytest.mark.parametrize("mode", [0o664, 0o622, 0o666])
def test_a_file_that_ssh_would_refuse_is_left_alone(places: SshPaths, mode: int) -> None:
    places.config.write_bytes(b"Host a\n")
    places.config.chmod(mode)
    with pytest.raises(SshConfigRefused) as caught:
        plan_install(places)
    assert f"chmod go-w {places.config}" in caught.value.shown_hint


@pytest.mark.parametrize("name", ['qu"ote', "st*r", "per%cent", "dol$lar", "li\nne", "back\\slash"])
def test_a_path_that_ssh_would_change_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(SshConfigRefused, match="literally"):
        plan_install(SshPaths(tmp_path / name / "config"))


def test_a_path_with_spaces_works_in_ssh(tmp_path: Path) -> None:
    places = SshPaths(tmp_path / "with space é" / "config")
    install(places)
    places.directory.mkdir()
    (places.directory / "a.conf").write_text("Host a\n  HostName found\n")
    assert "hostname found\n" in ssh_view(places.config, "a")[1]


def test_an_edit_between_reading_and_renaming_is_kept(
    places: SshPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    places.config.write_bytes(b"Host a\n")
    real, edits = user_file._still_the_same, iter([b"Host b\n", b"Host c\n"])

    def edited_meanwhile(seen: user_file.UserFile) -> bool:
        if edit := next(edits, None):
            places.config.write_bytes(edit)
        return real(seen)

    monkeypatch.setattr(user_file, "_still_the_same", edited_meanwhile)
    install(places)
    assert places.config.read_bytes().endswith(END + b"\nHost c\n")


def test_a_file_that_never_rests_is_given_up(
    places: SshPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    places.config.write_bytes(b"Host a\n")
    monkeypatch.setattr(user_file, "_still_the_same", lambda _: False)
    with pytest.raises(SshConfigRefused, match="keeps changing"):
        install(places)
    assert places.config.read_bytes() == b"Host a\n"
    assert {file.name for file in places.config.parent.iterdir()} == {
        "config",
        "config.scratchflow-bak",
    }


@pytest.mark.parametrize("call", ["write_new", "fsync_directory", "os.replace", "os.link"])
def test_a_failing_disk_leaves_the_old_file_or_the_new_one(
    places: SshPaths, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    places.config.write_bytes(b"Host a\n")
    plan = plan_install(places)

    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"scratchflow.ssh.config.user_file.{call}", fails)
    with pytest.raises(SshConfigRefused, match="no space left"):
        apply(plan)
    assert places.config.read_bytes() in {b"Host a\n", plan.after}
    assert not list(places.config.parent.glob(".tmp-*"))


@pytest.mark.parametrize("before", [b"Host a\n", None])
def test_our_lines_stay_whole_in_a_diff_on_80_columns(
    places: SshPaths, before: bytes | None
) -> None:
    if before is not None:
        places.config.write_bytes(before)
    ours = [line for line in plan_install(places).diff.splitlines() if "scratchflow >>>" in line]
    assert [len(line) < 80 for line in ours] == [True]


@pytest.mark.parametrize(("made", "left"), [(b"", b"Host a\n"), (b" made this file;", None)])
def test_lines_with_the_longer_words_of_before_are_removed_too(
    places: SshPaths, made: bytes, left: bytes | None
) -> None:
    words = b" `scratchflow setup --remove` takes these three lines out again\n"
    include = places.include_line.encode() + b"\n"
    places.config.write_bytes(BEGIN + made + words + include + END + b"\n" + (left or b""))
    assert is_installed(places)
    remove(places)
    assert (places.config.read_bytes() if places.config.exists() else None) == left


def test_it_is_known_whether_the_block_comes_before_every_setting(places: SshPaths) -> None:
    assert not comes_first(places)
    install(places)
    ours = places.config.read_bytes()
    assert comes_first(places)
    for above, is_first in [(b"# mine\n\n", True), (b"Include x\n", False), (ours, False)]:
        places.config.write_bytes(above + ours)
        assert comes_first(places) is is_first


def test_a_read_only_file_without_the_block_or_with_it_below_is_refused_with_what_to_do(
    places: SshPaths,
) -> None:
    ours = plan_install(places).after or b""
    for content, how in [(b"Host a\n", "put this line at"), (b"Host a\n" + ours, "move ")]:
        places.config.unlink(missing_ok=True)
        places.config.write_bytes(content)
        places.config.chmod(0o400)
        with pytest.raises(SshConfigRefused) as caught:
            plan_install(places)
        assert f"run `chmod u+w {places.config}` and try again, or {how}" in caught.value.shown_hint
        assert "its very top by hand" in caught.value.shown_hint
