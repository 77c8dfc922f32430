"""Renames that destroy nothing: with the kernel's own call, with hard links, and without either."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from scratchflow.disk import exchange as module
from scratchflow.disk.exchange import exchange, rename_free


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def _no_links(*_: object, **__: object) -> NoReturn:
    """What vfat and some FUSE file systems say."""
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.fixture(params=["renameat2", "unknown flag", "no such call", "no hard links"])
def every_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "unknown flag":
        monkeypatch.setattr(module, "_system_call", lambda: lambda *_: errno.EINVAL)
    elif request.param != "renameat2":
        monkeypatch.setattr(module, "_system_call", lambda: None)
    if request.param == "no hard links":
        monkeypatch.setattr(os, "link", _no_links)


_MOVED_FROM, _MOVED_TO = 0x40, 0x80


def _moves(watching: int) -> list[tuple[int, bytes]]:
    """What inotify tells, as (which, name)."""
    told, moves = os.read(watching, 4096), []
    while told:
        _, mask, _, length = struct.unpack_from("iIII", told)
        moves.append((mask, told[16 : 16 + length].rstrip(b"\0")))
        told = told[16 + length :]
    return moves


def test_an_editor_that_watches_the_file_hears_last_that_another_one_came(
    tmp_path: Path, directory: int
) -> None:
    for name in ("shown", "created"):
        (tmp_path / name).write_text(name)
    libc = ctypes.CDLL(None)
    watching = libc.inotify_init()
    try:
        libc.inotify_add_watch(watching, os.fsencode(tmp_path), _MOVED_FROM | _MOVED_TO)
        assert exchange(b"created", b"shown", directory)
        told = [mask for mask, name in _moves(watching) if name == b"shown"]
    finally:
        os.close(watching)
    assert told == [_MOVED_FROM, _MOVED_TO]


def test_two_names_swap_what_they_name(tmp_path: Path, directory: int) -> None:
    (tmp_path / "file").write_text("content")
    (tmp_path / "dir").mkdir()
    if not exchange(b"file", b"dir", directory):
        pytest.skip("this file system cannot swap names")
    assert (tmp_path / "dir").read_text() == "content"
    assert (tmp_path / "file").is_dir()


def test_a_name_that_is_missing_is_an_error_of_the_swap(tmp_path: Path, directory: int) -> None:
    (tmp_path / "file").write_text("content")
    if not exchange(b"file", b"file", directory):
        pytest.skip("this file system cannot swap names")
    with pytest.raises(FileNotFoundError):
        exchange(b"file", b"missing", directory)
    assert (tmp_path / "file").read_text() == "content"


def test_where_no_names_can_be_swapped_nothing_is_done(
    tmp_path: Path, directory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_system_call", lambda: lambda *_: errno.EINVAL)
    (tmp_path / "one").write_text("1")
    (tmp_path / "other").write_text("2")
    assert not exchange(b"one", b"other", directory)
    assert ((tmp_path / "one").read_text(), (tmp_path / "other").read_text()) == ("1", "2")


@pytest.mark.usefixtures("every_way")
@pytest.mark.parametrize("taken_by", ["file", "directory", "dangling link"])
@pytest.mark.parametrize("what", ["file", "directory", "link"])
def test_a_taken_name_is_refused_and_both_stay(
    tmp_path: Path, directory: int, what: str, taken_by: str
) -> None:
    for name, kind in ((tmp_path / "name", what), (tmp_path / "taken", taken_by)):
        if kind == "file":
            name.write_text(name.name)
        elif kind == "directory":
            name.mkdir()
        else:
            name.symlink_to("nowhere")
    before = (tmp_path / "name").lstat().st_ino, (tmp_path / "taken").lstat().st_ino
    with pytest.raises(FileExistsError):
        rename_free(b"name", b"taken", directory)
    assert ((tmp_path / "name").lstat().st_ino, (tmp_path / "taken").lstat().st_ino) == before


@pytest.mark.usefixtures("every_way")
def test_a_free_name_is_taken(tmp_path: Path, directory: int) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "dir/inside").mkdir(parents=True)
    (tmp_path / "link").symlink_to("file")
    for name in (b"file", b"dir", b"link"):
        rename_free(name, name + b".2", directory)
    assert sorted(os.listdir(tmp_path)) == ["dir.2", "file.2", "link.2"]
    assert (tmp_path / "link.2").is_symlink()


@pytest.mark.usefixtures("every_way")
def test_what_is_not_there_is_an_error(directory: int) -> None:
    with pytest.raises(FileNotFoundError):
        rename_free(b"missing", b"free", directory)
