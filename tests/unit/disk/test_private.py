"""Directories of our own are closed to others, whatever the umask, and those of others stay as they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.disk.private import make_private_directories


@pytest.fixture(params=[0o000, 0o022, 0o377])
def any_umask(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    assert tmp_path.is_dir()  # made before
    before = os.umask(request.param)
    yield
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("any_umask")
def test_all_that_were_missing_are_closed(tmp_path: Path) -> None:
    make_private_directories(tmp_path / "a/b/c")
    assert [_mode(tmp_path / path) for path in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_those_that_are_there_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)
    make_private_directories(tmp_path / "a/b")
    make_private_directories(tmp_path / "a")
    assert (_mode(tmp_path / "a"), _mode(tmp_path / "a/b")) == (0o755, 0o700)


def test_a_link_to_a_directory_will_do(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    make_private_directories(tmp_path / "link/work")
    assert (tmp_path / "disk/work").is_dir()


@pytest.mark.parametrize("what", ["file", "dangling link"])
def test_what_is_no_directory_is_an_error_and_stays(tmp_path: Path, what: str) -> None:
    in_the_way = tmp_path / "work"
    in_the_way.symlink_to("nowhere") if what == "dangling link" else in_the_way.write_text("mine")
    with pytest.raises(FileExistsError):
        make_private_directories(in_the_way)
    assert os.path.lexists(in_the_way)
    assert not (tmp_path / "nowhere").exists()
