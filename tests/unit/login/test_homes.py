"""A login host looks at its home for `sync`, and counts files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from scratchflow.config.settings import given_settings
from scratchflow.login.homes import count_in, look_at_home
from scratchflow.login.host import LoginHost
from scratchflow.model.errors.sync import SyncFolderRefused, SyncHomeFull, UnisonMissing
from scratchflow.model.requests import SyncCount, SyncLook
from scratchflow.model.results.sync import FilesCounted


def _login(home: Path, path: str = "", **profile: str) -> LoginHost:
    environment = {**os.environ, "HOME": str(home), "PATH": path or os.environ["PATH"]}
    return LoginHost(given_settings("uni", profile, "test"), environment, lambda _: None)


def _program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return path


def test_the_home_is_known_by_an_id_that_stays(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = look_at_home(_login(tmp_path / "a"), SyncLook(folders=("p",)))
    again = look_at_home(_login(tmp_path / "a"), SyncLook(folders=()))
    other = look_at_home(_login(tmp_path / "b"), SyncLook(folders=()))
    assert first.home_id == again.home_id != other.home_id
    assert first.home == str(tmp_path / "a")
    assert first.version.startswith("unison version 2.")
    assert os.path.isabs(first.program)


def test_a_home_without_room_for_its_id_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(SyncHomeFull, match="the home of profile `uni` is full") as caught:
        look_at_home(_login(tmp_path), SyncLook(folders=()))
    assert caught.value.exit_code == 33


def test_scratch_and_the_store_beneath_the_home_never_sync(tmp_path: Path) -> None:
    login = _login(tmp_path, scratch="$HOME/fast", store="~/snapshots")
    assert look_at_home(login, SyncLook(folders=(".",))).never == ["fast", "snapshots"]
    with pytest.raises(SyncFolderRefused, match="`fast/work` does not sync"):
        look_at_home(login, SyncLook(folders=("fast/work",)))


def test_names_with_a_line_break_are_counted_as_far_as_they_would_sync(tmp_path: Path) -> None:
    for name in (
        "p/a\nb",
        "p/q/c\rd",
        "p/e\nf/g\nh",
        "p/plain",
        "p/.cache/i\nj",
        "other\n",
        "s/k\n",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    login = _login(tmp_path, store="~/s")

    def count(*folders: str) -> int:
        return look_at_home(login, SyncLook(folders=folders, leave_out=(".cache",))).line_breaks

    assert (count("p", "p/q"), count("p/q"), count("new"), count(".")) == (3, 1, 0, 4)


def test_folders_that_are_not_there_are_told(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    assert look_at_home(_login(tmp_path), SyncLook(folders=("p", "projcts"))).missing == ["projcts"]


def test_a_link_to_scratch_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p").symlink_to("/scratch/me")
    with pytest.raises(
        SyncFolderRefused, match="a link to `/scratch/me` in the home of profile `uni`"
    ):
        look_at_home(_login(tmp_path), SyncLook(folders=("p",)))
    with pytest.raises(SyncFolderRefused):
        look_at_home(_login(tmp_path), SyncLook(folders=("p/q",)))


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("x")
    with pytest.raises(SyncFolderRefused, match="no directory"):
        look_at_home(_login(tmp_path), SyncLook(folders=("p",)))


def test_without_a_unison_the_next_step_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnisonMissing) as met:
        look_at_home(_login(tmp_path), SyncLook(folders=(), program=str(tmp_path / "empty/unison")))
    assert "there is no such program" in str(met.value)
    assert "`[sync.programs]`" in met.value.shown_hint


def test_another_program_of_that_name_is_no_unison(tmp_path: Path) -> None:
    program = _program(tmp_path / "bin/unison", "echo something else")
    with pytest.raises(UnisonMissing, match="something else"):
        look_at_home(_login(tmp_path), SyncLook(folders=(), program=str(program)))


def test_the_configured_program_is_used(tmp_path: Path) -> None:
    program = _program(tmp_path / "bin/mine", 'echo "unison version 2.53.4 (ocaml 5.1.0)"')
    seen = look_at_home(_login(tmp_path), SyncLook(folders=(), program=str(program)))
    assert (seen.program, seen.version) == (str(program), "unison version 2.53.4 (ocaml 5.1.0)")


def test_a_directory_counts_with_all_that_is_in_it(tmp_path: Path) -> None:
    for name in ("p/a/1", "p/a/2", "p/a/b/3", "p/4"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "p/link").symlink_to("a")
    count = count_in(tmp_path, SyncCount(deleted=(b"p/a", b"p/4", b"p/gone"), folders=("p", "q")))
    assert count == FilesCounted(going=5, total=5)
    replaced = count_in(tmp_path, SyncCount(replaced=(b"p/a", b"p/4", b"p/link", b"p/new")))
    assert replaced.going == 3


def test_what_was_written_just_now_is_named_by_its_place(tmp_path: Path) -> None:
    for name in ("old", "d/old", "new", "d2/new", "future"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    for name in ("old", "d/old"):
        os.utime(tmp_path / name, (1, 1))
    os.utime(tmp_path / "future", (4e9, 4e9))
    paths = (b"old", b"new", b"d", b"d2", b"gone", b"future")
    found = count_in(tmp_path, SyncCount(written=paths, within_s=30.0))
    assert found.just_written == [1, 3]
    assert found.youngest_s is not None
    assert 0 <= found.youngest_s <= 30
    assert count_in(tmp_path, SyncCount(written=(b"old",), within_s=30.0)).youngest_s is None


def test_a_path_may_be_a_link_but_not_lie_beneath_one(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "p/link").symlink_to(tmp_path / "elsewhere")
    login = _login(tmp_path, store="~/p/store")

    def missing(*paths: str) -> list[str]:
        return look_at_home(login, SyncLook(folders=("p",), paths=paths)).missing

    assert missing("p/link", "p/typo") == ["p/typo"]
    with pytest.raises(SyncFolderRefused, match="beneath a link"):
        missing("p/link/a")
    with pytest.raises(SyncFolderRefused, match="holds the snapshots"):
        missing("p/store/a")
