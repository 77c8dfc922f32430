"""The user's file is replaced whole or not at all, and only when it is still what was read."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.user_file import drop_needless_backup, read_user_file, swap

BEFORE, AFTER = b"Host a\n", b"Host b\n"


def names(places: SshPaths) -> set[str]:
    return set(os.listdir(places.config.parent))


def test_what_was_read_is_replaced_with_its_mode_and_one_backup(places: SshPaths) -> None:
    places.config.write_bytes(BEFORE)
    places.config.chmod(0o640)
    assert swap(read_user_file(places), AFTER)
    assert swap(read_user_file(places), b"Host c\n")
    assert places.config.read_bytes() == b"Host c\n"
    assert stat.S_IMODE(places.config.stat().st_mode) == 0o640
    assert places.backup.read_bytes() == BEFORE
    assert stat.S_IMODE(places.backup.stat().st_mode) == 0o600
    assert names(places) == {"config", "config.scratchflow-bak"}


def test_a_file_that_changed_since_is_left_as_it_is(places: SshPaths) -> None:
    places.config.write_bytes(BEFORE)
    seen = read_user_file(places)
    places.config.write_bytes(b"Host edited\n")
    assert not swap(seen, AFTER)
    assert not swap(seen, None)
    assert places.config.read_bytes() == b"Host edited\n"


def test_a_file_that_appeared_since_is_left_as_it_is(places: SshPaths) -> None:
    seen = read_user_file(places)
    assert seen.content is None
    places.config.write_bytes(b"Host new\n")
    assert not swap(seen, AFTER)
    assert places.config.read_bytes() == b"Host new\n"
    assert names(places) == {"config"}


def test_a_missing_file_is_made_for_us_alone(places: SshPaths, any_umask: int) -> None:
    assert any_umask >= 0
    assert swap(read_user_file(places), AFTER)
    assert stat.S_IMODE(places.config.stat().st_mode) == 0o600
    assert not places.backup.exists()


def test_the_symlink_stays_and_a_repointed_one_is_noticed(places: SshPaths) -> None:
    first, second = (places.config.with_name(name) for name in ("first", "second"))
    for file in (first, second):
        file.write_bytes(BEFORE)
    places.config.symlink_to("first")
    assert swap(read_user_file(places), AFTER)
    assert (places.config.is_symlink(), first.read_bytes()) == (True, AFTER)
    seen = read_user_file(places)
    places.config.unlink()
    places.config.symlink_to("second")
    second.write_bytes(AFTER)
    assert not swap(seen, b"Host c\n")


def test_what_is_no_plain_file_is_refused(places: SshPaths) -> None:
    os.mkfifo(places.config)
    with pytest.raises(SshConfigRefused, match="not a plain file"):
        read_user_file(places)
    places.config.unlink()
    places.config.mkdir()
    with pytest.raises(SshConfigRefused, match="it is a directory"):
        read_user_file(places)


def test_a_link_into_nowhere_and_a_second_name_are_not_ours_to_write(places: SshPaths) -> None:
    places.config.symlink_to("gone/config")
    with pytest.raises(SshConfigRefused, match="does not exist"):
        read_user_file(places).require_writable()
    places.config.unlink()
    places.config.write_bytes(BEFORE)
    os.link(places.config, places.config.with_name("other"))
    with pytest.raises(SshConfigRefused, match="second name") as caught:
        read_user_file(places).require_writable()
    assert places.include_line in caught.value.shown_hint


def test_two_of_us_take_turns(places: SshPaths) -> None:
    places.config.write_bytes(BEFORE)
    order: list[str] = []

    def second() -> None:
        with read_user_file(places).alone():
            order.append("second")

    with read_user_file(places).alone():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.05)
        order.append("first")
    thread.join(20)
    assert order == ["first", "second"]


def test_a_backup_goes_only_when_the_file_says_the_same(places: SshPaths, tmp_path: Path) -> None:
    places.config.write_bytes(BEFORE)
    places.backup.write_bytes(AFTER)
    drop_needless_backup(places)
    assert places.backup.exists()
    places.backup.write_bytes(BEFORE)
    drop_needless_backup(places)
    assert not places.backup.exists()
    (tmp_path / "elsewhere").write_bytes(BEFORE)
    places.backup.symlink_to(tmp_path / "elsewhere")
    drop_needless_backup(places)
    assert places.backup.is_symlink()
