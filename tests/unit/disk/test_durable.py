"""Files that are old or new, never half; and names that nobody takes from somebody else."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scratchflow.disk.durable import (
    fsync_directory,
    is_there,
    link_new,
    may_be_there,
    publish_new,
    replace_file,
    write_new,
)


@pytest.fixture(params=[0o000, 0o077, 0o377])
def any_umask(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    assert tmp_path.is_dir()  # made before
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("any_umask")
def test_a_replaced_file_has_the_mode_that_was_asked_for(tmp_path: Path) -> None:
    replace_file(tmp_path / "file", b"new", mode=0o640)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "file").symlink_to("elsewhere")
    replace_file(tmp_path / "file", b"new")
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "precious"


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_whatever_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (tmp_path / "file").write_text("old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space"):
        replace_file(tmp_path / "file", b"new")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_system_that_takes_a_few_bytes_at_a_time_gets_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    replace_file(tmp_path / "file", b"0123456789")
    assert (tmp_path / "file").read_bytes() == b"0123456789"


@pytest.mark.parametrize("taken_by", ["file", "dangling link"])
def test_a_new_file_takes_no_name_that_is_taken(tmp_path: Path, taken_by: str) -> None:
    taken, temp = tmp_path / "taken", tmp_path / "temp"
    temp.write_text("new")
    taken.write_text("old") if taken_by == "file" else taken.symlink_to("nowhere")
    before = taken.lstat()
    with pytest.raises(FileExistsError):
        write_new(taken, b"new", mode=0o600)
    with pytest.raises(FileExistsError):
        publish_new(temp, taken)
    assert taken.lstat() == before
    assert temp.read_text() == "new"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("has_links", [True, False])
def test_a_finished_file_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_links: bool
) -> None:
    if not has_links:
        monkeypatch.setattr(os, "link", _no_links)
    (tmp_path / "temp").write_text("new")
    publish_new(tmp_path / "temp", tmp_path / "name")
    assert os.listdir(tmp_path) == ["name"]
    (tmp_path / "temp").write_text("newer")
    with pytest.raises(FileExistsError):
        publish_new(tmp_path / "temp", tmp_path / "name")
    assert (tmp_path / "name").read_text() == "new"


def _no_links(*_: object, **__: object) -> None:
    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


def test_a_link_whose_answer_was_lost_is_ours(tmp_path: Path) -> None:
    (tmp_path / "temp").write_text("new")
    os.link(tmp_path / "temp", tmp_path / "name")  # carried out; NFS sends the request again
    assert link_new(tmp_path / "temp", tmp_path / "name")


def test_an_error_is_no_answer_to_whether_something_is_there(tmp_path: Path) -> None:
    too_long = tmp_path / ("x" * 300)
    with pytest.raises(OSError, match="too long"):
        is_there(too_long)
    assert may_be_there(too_long)
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert not may_be_there(tmp_path / "file/beneath")
    assert not is_there(tmp_path / "missing")
    assert is_there(tmp_path / "dangling")


@pytest.mark.parametrize(("number", "passes"), [(errno.EINVAL, True), (errno.EIO, False)])
def test_a_directory_that_cannot_be_synced_is_told_from_a_disk_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, passes: bool
) -> None:
    def fails(_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fails)
    if passes:
        fsync_directory(tmp_path)
    else:
        with pytest.raises(OSError, match="Input/output"):
            fsync_directory(tmp_path)
